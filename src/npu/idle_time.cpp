#include "tessera/npu/idle_time.hpp"

#include <algorithm>
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
