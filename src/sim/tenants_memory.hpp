// Memories that tenants share: what they keep there together, and at which addresses.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Gives caches of tenants that serve what others leave, and complains, at the `workload` of the
// last tenant concerned, where a memory cannot hold what several keep in it. Known are: of programs
// what SRAM does not hold (none with `capacity: ignore`), of models on a chip their weights, of
// operators their operands, of those that serve weights and caches, and tensors of vertices. What
// the cores of a chip or an NPU share is spread over the memories that are theirs. `sections` are
// those of tenants.
void share_memories(Experiment& experiment, std::vector<config::Section>& sections);

// Puts operands of each tenant where those of no other are: first those of programs, which are
// their tiles' own, behind them chips and those who serve, from multiples of 16 MiB on. (Accesses
// without addresses are in regions of their tiles, whatever the tenant.)
void place_operands(Experiment& experiment);

}  // namespace tessera::sim
