#include "tessera/npu/core/core.hpp"
#include "tessera/core/fastest_clock.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compat/onnxim/onnxim.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/error.hpp"

namespace tessera::npu {
namespace {

using config::between;
using config::ChoiceKey;
using config::Key;

constexpr std::int64_t longest_side = 1 << 16;

struct LatencyKey {
  std::uint64_t VectorLatencies::*member;
  Key<std::uint64_t> key;
};

LatencyKey latency(const char* name, std::uint64_t VectorLatencies::*member, std::string help) {
  return {member, Key<std::uint64_t>("latencies." + std::string(name), VectorLatencies{}.*member,
                                     "cycles of a " + std::move(help),
                                     between<std::uint64_t>(0, 1'000'000))};
}

// Sets the timing of a core whose array is known.
using TimingRule = void (*)(CoreConfig&);

void time_as_published(CoreConfig& core) {
  core.timing = {1, core.rows, core.rows + core.columns - 1, true};
}

// Keys are made when asked for: compute models register with their rows.
struct CoreKeys {
  static const CoreKeys& all();

  CoreConfig usual{};
  Key<Clock> clock{"clock", usual.clock, "clock of the core",
                   config::between(Clock::hertz(1), fastest_clock)};
  config::ListKey<std::int64_t> array{
      "array",
      {static_cast<std::int64_t>(usual.rows), static_cast<std::int64_t>(usual.columns)},
      "[rows, columns] of the systolic array"};
  Key<std::uint64_t> vector_width{"vector_width", usual.vector_width,
                                  "elements that the vector unit processes per cycle: lanes * ALUs",
                                  between<std::uint64_t>(1, 1 << 24)};
  std::vector<LatencyKey> latencies{
      latency("add", &VectorLatencies::add, "pass: addition, comparison, move"),
      latency("mul", &VectorLatencies::mul, "pass: multiplication"),
      latency("exp", &VectorLatencies::exp, "pass: exponential"),
      latency("div", &VectorLatencies::div, "pass: division"),
      latency("gelu", &VectorLatencies::gelu, "pass: GELU"),
      latency("tree", &VectorLatencies::tree, "level of an addition tree"),
      latency("scalar_mul", &VectorLatencies::scalar_mul, "scalar multiplication"),
      latency("scalar_sqrt", &VectorLatencies::scalar_sqrt, "scalar square root")};
  Key<Bytes> scratchpad{"scratchpad", Bytes(32ULL << 20U), "capacity, in two halves"};
  Key<Bytes> accumulator{"accumulator", Bytes(4ULL << 20U), "capacity, in two halves"};
  Key<Bytes> word{"scratchpad_word", usual.word,
                  "bytes that a bank delivers per cycle; 0 B: never the limit"};
  Key<std::uint64_t> banks{"banks", usual.banks,
                           "banks of the scratchpad; with one, DMA takes cycles from the array",
                           between<std::uint64_t>(1, 4096)};
  Key<std::uint64_t> queue{
      "queue", usual.queue,
      "maximum number of blocks that are issued to the array and not completed",
      between<std::uint64_t>(1, 1 << 16)};
  ChoiceKey<TimingRule> timing{"timing",
                               {{"deterministic", time_as_published}, {"onnxim", time_as_onnxim}},
                               "deterministic",
                               "timing rules of the array: deterministic or onnxim"};
  ChoiceKey<Tiling> tiling{"tiling",
                           {{"fitted", Tiling::fitted}, {"onnxim", Tiling::onnxim}},
                           CoreConfig{}.tiling,
                           "rules for tile sizes: fitted or onnxim"};
  ChoiceKey<Operands> operands{"operands",
                               {{"memory", Operands::memory}, {"sram", Operands::sram}},
                               CoreConfig{}.operands,
                               "location of the operands of programs: memory, or sram of the tile"};
  ChoiceKey<bool> by_rows{"dma.access",
                          {{"block", false}, {"row", true}},
                          "block",
                          "one access per block, or per row of a block"};
  Key<Bytes> request{"dma.request", usual.dma.request, "maximum size of an access; 0 B: unlimited"};
  Key<std::uint32_t> open{"dma.open", usual.dma.open, "maximum number of accesses in flight",
                          between(1U, 16'384U)};
};

const CoreKeys& CoreKeys::all() {
  static const CoreKeys keys;
  return keys;
}

void read_array(config::Section& section, CoreConfig& core) {
  const std::vector<std::int64_t> sides = CoreKeys::all().array.read(section);
  const auto fits = [](std::int64_t side) { return side >= 1 && side <= longest_side; };
  if (sides.size() != 2 || !std::all_of(sides.begin(), sides.end(), fits)) {
    section.error("array", "must be two numbers from 1 to 65536, [rows, columns]");
    return;
  }
  core.rows = static_cast<std::uint64_t>(sides[0]);
  core.columns = static_cast<std::uint64_t>(sides[1]);
}

void read_latencies(config::Section section, VectorLatencies& latencies) {
  for (const LatencyKey& one : CoreKeys::all().latencies) {
    latencies.*one.member = one.key.read(section);
  }
}

void read_timing(config::Section& section, CoreConfig& core) {
  CoreKeys::all().timing.read(section)(core);
  core.tiling = CoreKeys::all().tiling.read(section);
}

void read_dma(config::Section section, DmaConfig& dma) {
  const CoreKeys& keys = CoreKeys::all();
  dma.by_rows = keys.by_rows.read(section);
  dma.request = keys.request.read(section);
  dma.open = keys.open.read(section);
}

}  // namespace

std::uint64_t streamed_cycles(const CoreConfig& core, std::uint64_t rows, std::uint64_t depth,
                              Bytes element) {
  const std::uint64_t rate = core.scratchpad_rate();
  const std::uint64_t row = rate == 0 ? 1 : (depth * element.count() + rate - 1) / rate;
  return std::max(rows * std::max<std::uint64_t>(row, 1), core.timing.least_rows);
}

CoreConfig read_core(config::Section& section) {
  const CoreKeys& keys = CoreKeys::all();
  CoreConfig core;
  core.clock = keys.clock.read(section);
  read_array(section, core);
  core.vector_width = keys.vector_width.read(section);
  read_latencies(section.section("latencies"), core.vector);
  core.scratchpad = keys.scratchpad.read(section);
  core.accumulator = keys.accumulator.read(section);
  core.word = keys.word.read(section);
  core.banks = keys.banks.read(section);
  core.queue = keys.queue.read(section);
  core.macs_per_pe = machine::read_macs_per_pe(section);
  read_timing(section, core);
  core.operands = keys.operands.read(section);
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

void note_keys_without_effect(config::Section& section, const CoreConfig& core,
                              bool names_vector_work,
                              const std::optional<std::set<std::string>>& passes) {
  const CoreKeys& keys = CoreKeys::all();
  if (core.word == Bytes() && core.banks != keys.usual.banks) {
    config::note_without_effect(section, keys.banks.key(), "scratchpad_word: 0 B");
  }
  config::Section latencies = section.section("latencies");
  for (const LatencyKey& one : keys.latencies) {
    if (core.vector.*one.member == keys.usual.vector.*one.member) {
      continue;
    }
    if (!names_vector_work && one.member != &VectorLatencies::add) {
      config::note_without_effect(
          latencies, one.key.key(),
          "operations of programs and graphs, whose work without a product is additions");
    } else if (passes && !passes->contains(std::string(one.key.key()))) {
      config::note_without_effect(latencies, one.key.key(),
                                  names_vector_work ? "operators that have no such passes"
                                                    : "operations that are all products");
    }
  }
}

std::vector<ParameterInfo> core_parameters() {
  const CoreKeys& keys = CoreKeys::all();
  std::vector<ParameterInfo> list{keys.clock, keys.array, machine::macs_per_pe_parameter(),
                                  keys.vector_width};
  for (const LatencyKey& one : keys.latencies) {
    list.push_back(one.key);
  }
  list.insert(list.end(),
              {keys.scratchpad, keys.accumulator, keys.word, keys.banks, keys.queue, keys.timing,
               keys.tiling, keys.operands, keys.by_rows, keys.request, keys.open});
  return list;
}

}  // namespace tessera::npu
