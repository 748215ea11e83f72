// Whether a run can have the memory that it is predicted to need.
#pragma once

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim {

// Holds what the ranks of each machine, or of each control group, are predicted to need together
// against what there is. More than all of it is a ConfigError on rank 0 and Aborted on the others
// (a warning under RunRequest::ignore_memory), more than what is free a warning. Ranks beyond
// `cut.ranks` are idle and need nothing. Collective.
void check_memory(const Experiment& experiment, const CutChoice& cut,
                  comm::Communicator& communicator, const RunRequest& request);

}  // namespace tessera::sim
