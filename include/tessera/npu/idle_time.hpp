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

// First cycle that does not begin before `time`.
Cycle cycle_at(Clock clock, SimTime time);

}  // namespace tessera::npu
