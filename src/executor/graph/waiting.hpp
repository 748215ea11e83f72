// What an NPU waits for, in words: of runs that come to no end.
#pragma once

#include <string>

#include "graph/npu.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor {

// Node of the machine, name of the graph, and the task that began first of those under way.
std::string waiting_of(const GraphSetup& setup, const GraphNpu& npu);

}  // namespace tessera::executor
