#include "tessera/npu/core.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::npu {
namespace {

constexpr std::int64_t longest_side = 1 << 16;

std::uint64_t count(config::Section& section, const char* key, std::int64_t least,
                    std::uint64_t usual, std::int64_t most) {
  return static_cast<std::uint64_t>(section.get_or<std::int64_t>(
      key, static_cast<std::int64_t>(usual), config::between<std::int64_t>(least, most)));
}

void read_array(config::Section& section, CoreConfig& core) {
  const auto sides = section.get_list<std::int64_t>("array", {128, 128});
  const auto fits = [](std::int64_t side) { return side >= 1 && side <= longest_side; };
  if (sides.size() != 2 || !std::all_of(sides.begin(), sides.end(), fits)) {
    section.error("array", "must be two numbers from 1 to 65536, [rows, columns]");
    return;
  }
  core.rows = static_cast<std::uint64_t>(sides[0]);
  core.columns = static_cast<std::uint64_t>(sides[1]);
}

void read_latencies(config::Section section, VectorLatencies& latencies) {
  const auto cycles = [&](const char* key, std::uint64_t& latency) {
    latency = count(section, key, 0, latency, 1'000'000);
  };
  cycles("add", latencies.add);
  cycles("mul", latencies.mul);
  cycles("exp", latencies.exp);
  cycles("div", latencies.div);
  cycles("gelu", latencies.gelu);
  cycles("tree", latencies.tree);
  cycles("scalar_mul", latencies.scalar_mul);
  cycles("scalar_sqrt", latencies.scalar_sqrt);
}

void read_timing(config::Section& section, CoreConfig& core) {
  const std::string timing =
      section.get_name("timing", {"deterministic", "onnxim"}, "deterministic");
  if (timing == "onnxim") {
    core.timing = {4, 2 * core.rows - 1, core.rows + core.columns - 2, false};
    core.waits_for_stores = false;
  } else {
    core.timing = {1, core.rows, core.rows + core.columns - 1, true};
  }
  core.tiling = section.get_name("tiling", {"fitted", "onnxim"}, "fitted") == "onnxim"
                    ? Tiling::onnxim
                    : Tiling::fitted;
}

void read_dma(config::Section section, DmaConfig& dma) {
  dma.by_rows = section.get_name("access", {"block", "row"}, "block") == "row";
  dma.request = section.get_or<Bytes>("request", Bytes(0));
  dma.open = static_cast<std::uint32_t>(count(section, "open", 1, dma.open, 16'384));
}

}  // namespace

std::uint64_t streamed_cycles(const CoreConfig& core, std::uint64_t rows, std::uint64_t depth,
                              Bytes element) {
  const std::uint64_t rate = core.scratchpad_rate();
  const std::uint64_t row = rate == 0 ? 1 : (depth * element.count() + rate - 1) / rate;
  return std::max(rows * std::max<std::uint64_t>(row, 1), core.timing.least_rows);
}

CoreConfig read_core(config::Section& section) {
  CoreConfig core;
  core.clock = section.get_or<Clock>("clock", core.clock, config::at_least(Clock::hertz(1)));
  read_array(section, core);
  core.vector_width = count(section, "vector_width", 1, 2048, 1 << 24);
  read_latencies(section.section("latencies"), core.vector);
  core.scratchpad = section.get_or<Bytes>("scratchpad", Bytes(32ULL << 20U));
  core.accumulator = section.get_or<Bytes>("accumulator", Bytes(4ULL << 20U));
  core.word = section.get_or<Bytes>("scratchpad_word", Bytes(0));
  core.banks = count(section, "banks", 1, 2, 4096);
  core.queue = count(section, "queue", 1, 16, 1 << 16);
  core.macs_per_pe = machine::read_macs_per_pe(section);
  read_timing(section, core);
  core.operands = section.get_name("operands", {"memory", "sram"}, "memory") == "sram"
                      ? Operands::sram
                      : Operands::memory;
  read_dma(section.section("dma"), core.dma);
  // A block of weights with one of activations, of the widest elements, and its sums.
  constexpr std::uint64_t widest = 8;
  const std::uint64_t depth = core.rows * core.macs_per_pe.most();
  const std::uint64_t block = (core.rows + core.columns) * depth * widest;
  if (core.scratchpad_half().count() < block) {
    section.error("scratchpad", "half of it must hold a block of weights and one of activations, " +
                                    to_string(Bytes(block)));
  }
  if (core.accumulator_half().count() < core.array_size() * sum_bytes) {
    section.error("accumulator", "half of it must hold the sums of a block, " +
                                     to_string(Bytes(core.array_size() * sum_bytes)));
  }
  return core;
}

std::vector<ParameterInfo> core_parameters() {
  return {
      {"clock", "Hz", "1 GHz", "of the core"},
      {"array", "", "[128, 128]", "[rows, columns] of the systolic array"},
      machine::macs_per_pe_parameter(),
      {"vector_width", "", "2048", "elements of the vector unit a cycle: lanes times ALUs"},
      {"latencies.add", "", "1", "cycles of a pass: addition, comparison, move"},
      {"latencies.mul", "", "1", "cycles of a pass: multiplication"},
      {"latencies.exp", "", "1", "cycles of a pass: exponential"},
      {"latencies.div", "", "1", "cycles of a pass: division"},
      {"latencies.gelu", "", "1", "cycles of a pass: GELU"},
      {"latencies.tree", "", "1", "cycles of a level of an addition tree"},
      {"latencies.scalar_mul", "", "1", "cycles of a scalar multiplication"},
      {"latencies.scalar_sqrt", "", "1", "cycles of a scalar square root"},
      {"scratchpad", "B", "32 MiB", "capacity, in two halves"},
      {"accumulator", "B", "4 MiB", "capacity, in two halves"},
      {"scratchpad_word", "B", "0 B", "that a bank gives in a cycle; 0 B: never the limit"},
      {"banks", "", "2", "of the scratchpad; with one, DMA takes its cycles from the array"},
      {"queue", "", "16", "blocks issued to the array that are not through"},
      {"timing", "", "deterministic", "of the array: deterministic or onnxim"},
      {"tiling", "", "fitted", "sizes of tiles: fitted or onnxim"},
      {"operands", "", "memory", "of programs: memory, or sram of the tile"},
      {"dma.access", "", "block", "an access for each block, or for each row of it"},
      {"dma.request", "B", "0 B", "most of an access; 0 B: any"},
      {"dma.open", "", "64", "accesses under way at most"},
  };
}

}  // namespace tessera::npu
