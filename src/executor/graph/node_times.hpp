// How long nodes of graphs take, and in which lane.
#pragma once

#include "graph/tasks.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor {

// Of one that computes, at a node of the machine; `shape` is null where it is not known. `beside` a
// collective it may take longer.
SimTime node_time(const GraphSetup& setup, EntityId self, const Task& task,
                  const workload::NodeShape* shape, bool beside = false);

// From the begin of a send to its end.
SimTime send_time(const GraphSetup& setup, EntityId self, const Task& task);

// In which a task holds a place.
Lane lane_of(const GraphWork& work, const Task& task);

// Whether an access takes a time of its own.
bool is_elsewhere(const GraphWork& work, const Task& task);

}  // namespace tessera::executor
