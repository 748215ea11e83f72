// Where a stage's tensors live, and whether they fit.
#pragma once

#include "tessera/machine/machine.hpp"
#include "tessera/plan/cutter.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// Bytes of a stage's layers on one tile and what of them SRAM holds. `in_flight`: passes through
// one chunk whose activations are kept at a time.
StageMemory decide_memory(const machine::Tile& tile, bool has_dram,
                          const workload::Workload& workload, const Cutter& cutter,
                          const std::vector<LayerRange>& chunks, std::uint32_t in_flight);

// Throws ConfigError when something is not held by SRAM and the machine has no DRAM, or a channel
// is asked to hold more than its capacity; says which stage, how much, and what there is.
void check_capacity(const machine::Machine& machine, const Plan& plan);

}  // namespace tessera::plan
