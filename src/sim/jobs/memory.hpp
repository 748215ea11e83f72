// Memories that jobs share: what they keep there together, and at which addresses.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Gives caches of jobs that serve what others leave, and complains, at the `workload` of the
// last job concerned, where a memory cannot hold what several keep in it. Known are: of programs
// what SRAM does not hold (none with `capacity: ignore`), of models on a chip their weights, of
// operators their operands, of those that serve weights and caches, and tensors of vertices. What
// the cores of a chip or an NPU share is spread over the memories that are theirs. `sections` are
// those of jobs.
void share_memories(Experiment& experiment, std::vector<config::Section>& sections);

// Gives groups and operations of each job numbers of their own, and puts its operands where those
// of no other are: first those of programs, which are their tiles' own, behind them chips and those
// who serve, from multiples of 16 MiB on. (Accesses without addresses are in regions of their
// tiles, whatever the job.)
void number_jobs(Experiment& experiment);

}  // namespace tessera::sim
