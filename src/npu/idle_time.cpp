#include "tessera/npu/idle_time.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "tessera/core/wide.hpp"

namespace tessera::npu {
namespace {

struct Arrival {
  Cycle cycle = 0;
  std::uint64_t number = 0;
  Transfer transfer;
  friend bool operator>(const Arrival& a, const Arrival& b) {
    return a.cycle != b.cycle ? a.cycle > b.cycle : a.number > b.number;
  }
};

}  // namespace

Cycle cycle_at(Clock clock, SimTime time) {
  constexpr std::uint64_t ps = 1'000'000'000'000ULL;
  const Wide ticks =
      static_cast<Wide>(static_cast<std::uint64_t>(time.ps())) * clock.frequency_hz();
  return static_cast<Cycle>((ticks + ps - 1) / ps);
}

LeastWork least_work(const TiledOperator& op, std::uint64_t number, std::uint64_t cores) {
  struct Sums {
    std::uint64_t instructions = 0;
    std::uint64_t array = 0;   // cycles
    std::uint64_t vector = 0;  // the same
    std::uint64_t loaded = 0;
    void add(const Sums& other) {
      instructions += other.instructions;
      array += other.array;
      vector += other.vector;
      loaded += other.loaded;
    }
  };
  const auto sums_of = [](const TileProgram& program) {
    Sums sums{.instructions = program.code.size(), .loaded = program.loaded().count()};
    for (const CoreInstruction& one : program.code) {
      const bool is_product = one.opcode == Opcode::gemm || one.opcode == Opcode::gemm_preload;
      (is_product ? sums.array : sums.vector) += one.cycles;
    }
    return sums;
  };
  std::map<std::uint64_t, Sums> by_shape;
  Sums all;
  for (std::uint64_t group = number; group < op.groups(); group += cores) {
    for (std::uint64_t step = 0; step < op.steps(); ++step) {
      const std::uint64_t shape = op.tile(group, step).shape;
      const auto [known, is_new] = by_shape.try_emplace(shape);
      if (is_new) {
        known->second = sums_of(op.program(shape));
      }
      all.add(known->second);
    }
  }
  return {std::max({all.instructions, all.array, all.vector}), all.loaded};
}

// Times of cycles are rounded.
SimTime least_time(const CoreConfig& core, const LeastWork& work, Bandwidth sram) {
  SimTime least = core.clock.time_of_cycle(work.cycles);
  least = least - std::min(least, SimTime::from_ps(1));
  const bool is_read = core.operands == Operands::sram && sram > Bandwidth();
  return is_read ? std::max(least, serialization_time(Bytes(work.loaded), sram)) : least;
}

IdleRun run_alone(const CoreConfig& core, const std::vector<const TiledOperator*>& operators,
                  const IdleMemory& memory, std::uint64_t number, std::uint64_t cores) {
  ProgramStore programs(operators);
  CoreEngine engine(core, programs);
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;
  std::uint64_t transfers = 0;
  SimTime free_at;
  IdleRun result;
  Cycle now = 0;
  bool is_over = false;
  CoreEngine::Surroundings surroundings;
  surroundings.move = [&](Cycle cycle, const Transfer& transfer) {
    const SimTime begin = std::max(core.clock.time_of_cycle(cycle), free_at);
    const Bytes bytes(transfer.region.bytes());
    free_at = begin + (memory.bandwidth > Bandwidth() ? serialization_time(bytes, memory.bandwidth)
                                                      : SimTime::zero());
    arrivals.push({cycle_at(core.clock, free_at + memory.latency), transfers++, transfer});
  };
  surroundings.done = [&](Cycle cycle, const Share&) {
    result.cycles = std::max(result.cycles, cycle);
    is_over = true;
  };
  for (std::uint32_t i = 0; i < operators.size(); ++i) {
    Share share;
    share.number = i;
    share.group = number;
    share.stride = cores;
    engine.add(share);
    is_over = false;
    Cycle wake = engine.run(now, surroundings);
    while (!is_over || !arrivals.empty()) {
      const bool moved = !arrivals.empty() && arrivals.top().cycle <= wake;
      now = std::max(now, moved ? arrivals.top().cycle : wake);
      if (moved) {
        engine.moved(now, arrivals.top().transfer);
        arrivals.pop();
      }
      wake = engine.run(now, surroundings);
    }
    now = std::max(now, result.cycles);
  }
  result.use = engine.use();
  return result;
}

}  // namespace tessera::npu
