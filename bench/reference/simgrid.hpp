// SimGrid on the ring all-reduce and on random flows, as a second reference.
//
// SimGrid runs in programs of its own, tessera-bench-ring-simgrid and tessera-bench-flows-simgrid:
// its library defines MPI's functions (SMPI) and can not share a process with another MPI.
#pragma once

#include <cstdint>

#include "cost.hpp"
#include "models/random_flows.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::bench {

struct RingOnSimgrid {
  std::uint32_t accelerators = 0;
  Bytes chunk;
  Bandwidth bandwidth;
  SimTime latency;
  std::uint64_t iterations = 0;
};

struct SimgridCost {
  std::uint64_t flows = 0;
  SimTime simulated;
  Cost cost;
};

// Throws ConfigError when this build has no SimGrid, IoError when its program fails.
SimgridCost run_simgrid(const RingOnSimgrid& ring);
SimgridCost run_simgrid(const RandomFlowsParameters& flows);

}  // namespace tessera::bench
