// One NPU core as configured: systolic array, vector unit, scratchpad, accumulator, DMA.
//
// After H. Ham et al., "ONNXim: A Fast, Cycle-level Multi-core NPU Simulator", section II-B, and H.
// Genc et al., "Gemmini", DAC 2021. The scratchpad and the accumulator are each cut in two halves,
// which tiles use in turn, so that two tiles are under way at a time.
//
// Timing of the weight-stationary array of R rows and C columns, for l rows streamed through it:
//   `deterministic` (the paper): after the weights are in, l + R + C - 1 cycles. The first weights
//       take R cycles; those of a block that follows another one shift in while that one runs, so
//       that it starts max(l, R) after it, and l after it when the weights stay.
//   `onnxim` (what its code does): at least 4 rows; R + C - 2 + max(l, 4) cycles; the first weights
//       take 2R - 1; a tile is over when its last store is issued, not when it is acknowledged.
//
// An array of k MACs a processing element (machine/macs_per_pe.hpp) takes blocks of k R x C weights
// in the same cycles: each row of it holds k of the depth, and k elements enter it at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/macs_per_pe.hpp"

namespace tessera::npu {

// How tile sizes are found.
enum class Tiling : std::uint8_t {
  // Those that keep the cores equally busy and, among them, move the fewest bytes.
  fitted,
  // The heuristics of Gemmini as ONNXim's code has them, for products and convolutions that they
  // can cut; for others as `fitted`.
  onnxim,
};

// Where operands of a tile's own operation are.
enum class Operands : std::uint8_t {
  memory,  // MVIN and MVOUT are accesses to the memory that serves the core
  sram,    // in the tile's own SRAM, at its bandwidth
};

// Cycles of one pass of the vector unit over as many elements as it is wide, and of the scalar
// unit.
struct VectorLatencies {
  std::uint64_t add = 1;
  std::uint64_t mul = 1;
  std::uint64_t exp = 1;
  std::uint64_t div = 1;
  std::uint64_t gelu = 1;
  std::uint64_t tree = 1;  // one level of an addition tree
  std::uint64_t scalar_mul = 1;
  std::uint64_t scalar_sqrt = 1;
};

struct ArrayTiming {
  std::uint64_t least_rows = 1;
  std::uint64_t first_weights = 0;  // cycles before a first block
  std::uint64_t drain = 0;          // cycles beyond the rows streamed
  // The next weights shift in while all rows pass those that are there; else, while those of the
  // last block do.
  bool weights_beside_all_rows = true;
};

struct DmaConfig {
  bool by_rows = false;     // an access for each row of a block, else one for a block
  Bytes request;            // an access is of so many bytes at most; 0: any
  std::uint32_t open = 64;  // accesses under way at most
};

struct CoreConfig {
  Clock clock = Clock::hertz(1'000'000'000);
  std::uint64_t rows = 128;
  std::uint64_t columns = 128;
  std::uint64_t vector_width = 2048;  // elements a cycle: lanes times ALUs
  VectorLatencies vector;
  Bytes scratchpad;
  Bytes accumulator;
  Bytes word;  // that a bank of the scratchpad gives in a cycle; 0: never the limit
  std::uint64_t banks = 2;
  std::uint64_t queue = 16;  // blocks that wait for or are in the array, at most
  ArrayTiming timing;
  machine::MacsPerPe macs_per_pe;
  bool waits_for_stores = true;  // a tile is over when its stores are acknowledged
  Tiling tiling = Tiling::fitted;
  Operands operands = Operands::memory;
  DmaConfig dma;

  Bytes scratchpad_half() const { return Bytes(scratchpad.count() / 2); }
  Bytes accumulator_half() const { return Bytes(accumulator.count() / 2); }
  std::uint64_t array_size() const { return rows * columns; }
  // Bytes that the scratchpad gives in a cycle; 0: any.
  std::uint64_t scratchpad_rate() const { return word.count() * banks; }
};

// For how many cores, and of which elements.
struct Target {
  const CoreConfig& core;
  std::uint64_t cores = 1;
  DataType data_type = DataType::fp16;
  Bytes element() const { return element_size(data_type); }
  std::uint64_t macs_per_pe() const { return core.macs_per_pe.of(data_type); }
  // Of a product, in one block of weights: elements, of which each row of the array holds some.
  std::uint64_t array_depth() const { return core.rows * macs_per_pe(); }
  // Multiply-accumulates of the array in a cycle.
  std::uint64_t array_macs() const { return core.array_size() * macs_per_pe(); }
  // Two operations each.
  FlopRate array_rate() const {
    return machine::array_rate(core.array_size(), macs_per_pe(), core.clock);
  }
};

// Of one sum in the accumulator [B].
inline constexpr std::uint64_t sum_bytes = 4;

// Cycles that `rows` rows of `depth` elements take to enter the array.
std::uint64_t streamed_cycles(const CoreConfig& core, std::uint64_t rows, std::uint64_t depth,
                              Bytes element);

// Reads the section `compute`; complaints go to its diagnostics.
CoreConfig read_core(config::Section& section);
std::vector<ParameterInfo> core_parameters();
// Notes keys of the section that the core was read from and that change nothing, whether operators
// say what vector work they are of (compute::WorkTraits) or not; `passes` as names_of_passes, of
// all of them, or none: not known.
void note_keys_without_effect(config::Section& section, const CoreConfig& core,
                              bool names_vector_work,
                              const std::optional<std::set<std::string>>& passes);

}  // namespace tessera::npu
