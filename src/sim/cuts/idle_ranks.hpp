// Runs that fewer ranks do than there are: the others wait for the end.
#pragma once

#include <functional>

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// Calls `run` on the first `ranks` ranks, with a communicator of those. The others sleep and are
// heard: a stop requested there stops the run, and their watchdogs are fed. They get the status and
// the message of the summary. Collective.
trace::Summary run_on_first(
    int ranks, comm::Communicator& communicator, const RunRequest& request,
    const std::function<trace::Summary(comm::Communicator&, const RunRequest&)>& run);

}  // namespace tessera::sim
