// Programs as graphs: what a plan's tiles do, as nodes that depend on each other. So any workload
// can be written as execution traces, and run as one.
#pragma once

#include <memory>
#include <vector>

#include "tessera/plan/plan.hpp"
#include "tessera/workload/graph.hpp"

namespace tessera::plan {

// The graph of one iteration for each NPU; `npus` are the machine's nodes in the order of NPUs, and
// those without a role have no nodes. An instruction becomes a node that depends on the one before
// that its tile waited for; what goes on in the background, on the one it began after, and on the
// collective that was in the background before it. Communicators are named by group and first
// member ("tensor 8"). Nodes of all tiles of a stage have the same numbers.
//
// Lost are: the algorithm of a collective, which whoever runs the graph chooses; an order among
// background collectives and others. Aggregated plans have no graphs: ConfigError.
std::unique_ptr<workload::GraphSource> make_graph_source(std::shared_ptr<const Plan> plan,
                                                         std::vector<EntityId> npus);

}  // namespace tessera::plan
