// A look through graphs before they run: whether they can run to their end, and what is in them.
#pragma once

#include "tessera/workload/graph.hpp"

namespace tessera::workload {

// Reads all graphs once, in pieces. Throws ConfigError naming graph and node for
//   - a number given twice, and a dependency on a node that is not there
//   - a communicator that is not known, has a member that is none of the machine's NPUs or twice
//   the
//     same, or does not have the NPU that uses it; a peer that is no NPU; a root that is no member
//   - collectives of a communicator that its members do not all have, in one order
//   - a message that is sent and never received, or the other way; messages of one pair and tag
//     that together are received larger or smaller than they are sent, where receives say how
//     large.
// Circles of dependencies show as deadlocks when they run.
GraphSurvey look_through(const GraphSource& source);

// GraphSurvey::reach where the rest is known: of some NPUs, spread over all.
std::uint64_t reach_of_some(const GraphSource& source);

}  // namespace tessera::workload
