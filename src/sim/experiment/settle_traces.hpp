// The traces of the segment that a run goes on behind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::sim {

// Settles the traces of the last of `segments` (trace::settle_trace), each on one of the ranks.
// Where one does not hold the rows that the checkpoint counts, throws the IoError, or under
// RunRequest::accept_loss keeps what can be read: then the counts in `segments` are those, and the
// result says what is lost, a line a trace, the same on every rank. `attributes`: of a trace of
// that rank, for one that cannot be read at all. Collective.
std::vector<std::string> settle_traces(comm::Communicator& communicator, const RunRequest& request,
                                       const std::function<trace::Attributes(int)>& attributes,
                                       std::vector<trace::Segment>& segments);

}  // namespace tessera::sim
