// What a core does for one tile, as instructions. Tiles of one shape share a program: it names
// buffers of the tile's half of the scratchpad and of the accumulator, and places in operands
// relative to where the tile begins in them.
//
// The instruction set is that of ONNXim (section II-A), an extension of Gemmini's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/units.hpp"
#include "tessera/npu/core/core.hpp"

namespace tessera::npu {

enum class Opcode : std::uint8_t {
  mvin,          // region of an operand into `out`
  mvout,         // `a` to a region of an operand
  gemm_preload,  // weights `b` into the array, then as gemm
  gemm,          // rows of `a` through the array, sums into `out`
  im2col,        // windows of `a` gathered as columns in `out`, by the vector unit
  vector,        // `a` and `b` into `out`
};
std::string to_string(Opcode opcode);

// A buffer of the tile, by its number in one of the two memories of the core.
class BufferId {
 public:
  constexpr BufferId() = default;  // none
  static constexpr BufferId scratchpad(std::size_t number) {
    return BufferId(static_cast<std::uint16_t>(number));
  }
  static constexpr BufferId accumulator(std::size_t number) {
    return BufferId(static_cast<std::uint16_t>(number | accumulator_bit));
  }
  constexpr bool valid() const { return code_ != none_code; }
  constexpr bool in_accumulator() const { return (code_ & accumulator_bit) != 0; }
  constexpr std::size_t number() const { return code_ & (accumulator_bit - 1); }
  friend constexpr bool operator==(BufferId, BufferId) = default;

  static constexpr std::size_t most = 0x7FFF;  // buffers in one memory

 private:
  explicit constexpr BufferId(std::uint16_t code) : code_(code) {}
  static constexpr std::uint16_t accumulator_bit = 0x8000;
  static constexpr std::uint16_t none_code = 0xFFFF;
  std::uint16_t code_ = none_code;
};

// Rows of one length in an operand.
struct Region {
  std::uint64_t offset = 0;  // [B] from where the tile begins
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;  // [B] from row to row
  std::uint64_t bytes() const { return row_bytes * rows; }
};

struct CoreInstruction {
  Opcode opcode = Opcode::mvin;
  std::uint8_t operand = 0;  // mvin, mvout
  BufferId a;
  BufferId b;
  BufferId out;
  Region region;  // mvin, mvout
  // Of products: sums of `depth` products each.
  std::uint64_t rows = 0;  // gemm: streamed
  std::uint64_t depth = 0;
  std::uint64_t columns = 0;  // gemm: columns of the array in use
  std::uint64_t cycles = 0;   // gemm: to stream the rows; vector and im2col: in all
  std::uint64_t active = 0;   // gemm: whole cycles that its products would fill the array
};

struct TileProgram {
  std::vector<CoreInstruction> code;
  std::vector<Bytes> scratchpad;   // [buffers] size
  std::vector<Bytes> accumulator;  // [buffers] the same
  Bytes accumulator_bytes() const;
  std::uint64_t macs() const;
  Bytes loaded() const;
  Bytes stored() const;
};

// Puts a program together.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Target& target) : target_(target) {}

  BufferId scratchpad(Bytes bytes);
  BufferId accumulator(Bytes bytes);
  void mvin(std::uint8_t operand, const Region& region, BufferId out);
  void mvout(std::uint8_t operand, const Region& region, BufferId from);
  // Rows of `a` (rows x depth) times weights `b` (depth x columns). Of several `groups` side by
  // side, a row has the depth of each, and a column adds up that of one.
  void gemm(bool preload, BufferId a, BufferId b, BufferId out, std::uint64_t rows,
            std::uint64_t depth, std::uint64_t columns, std::uint64_t groups = 1);
  // The same of any depth and columns at once, as one block that is in the array for so many cycles
  // beside those of draining.
  void whole_gemm(std::uint64_t cycles, BufferId a, BufferId b, BufferId out, std::uint64_t rows,
                  std::uint64_t depth, std::uint64_t columns);
  // rows x columns sums of `depth` products each, by the vector unit.
  void multiply(BufferId a, BufferId b, BufferId out, std::uint64_t rows, std::uint64_t depth,
                std::uint64_t columns);
  void vector(std::uint64_t cycles, BufferId a, BufferId b, BufferId out);
  void im2col(std::uint64_t elements, BufferId a, BufferId out);

  TileProgram take() { return std::move(program_); }

 private:
  Target target_;
  TileProgram program_;
};

}  // namespace tessera::npu
