// What nodes of graphs compute, how long they take, and in which lane.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/tasks.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor {

// What the compute model is asked for; none: the node takes a time that is recorded, or none.
std::optional<workload::Operation> operation_of(const GraphOptions& options, const Task& task,
                                                const workload::NodeShape* shape);

// Its number in the component that computes, where a core goes through it (GraphSetup::is_core).
std::optional<std::uint32_t> number_on_core(const GraphSetup& setup, EntityId self,
                                            const Task& task, const workload::NodeShape* shape);

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
