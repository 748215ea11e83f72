// How long a core takes for operators when it has its memory to itself.
#pragma once

#include <vector>

#include "tessera/npu/core/core_engine.hpp"

namespace tessera::npu {

// A memory that serves one access after the other.
struct IdleMemory {
  Bandwidth bandwidth;  // 0: never the limit
  SimTime latency;      // of each access, beside those of others
};

struct IdleRun {
  Cycle cycles = 0;
  CoreUse use;
};

// One core does its share (groups `core`, `core` + cores, …) of each operator, one after the other.
IdleRun run_alone(const CoreConfig& core, const std::vector<const TiledOperator*>& operators,
                  const IdleMemory& memory, std::uint64_t number = 0, std::uint64_t cores = 1);

// What a core's share of an operator takes at least, whatever else goes on and when data comes: the
// array and the vector unit do one thing at a time, an instruction takes a cycle to issue, and what
// is loaded has to come before the share is over.
struct LeastWork {
  Cycle cycles = 0;
  std::uint64_t loaded = 0;  // [B]
};
LeastWork least_work(const TiledOperator& op, std::uint64_t number = 0, std::uint64_t cores = 1);
// The time of that. `sram`: of operands that lie there; 0: never the limit.
SimTime least_time(const CoreConfig& core, const LeastWork& work, Bandwidth sram);

// First cycle that does not begin before `time`.
Cycle cycle_at(Clock clock, SimTime time);

}  // namespace tessera::npu
