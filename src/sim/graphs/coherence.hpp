// Graphs whose NPUs access memory nodes by lines (memory/coherent/coherence.hpp).
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// Of graphs that access memory nodes; other work leaves it alone. Complaints go to the section of
// the machine.
void use_coherence(const Platform& platform, config::Section machine, executor::GraphWork& graph);

// Complains of `execution.remote` where it has no effect.
void check_remote_access(const executor::GraphWork& graph, config::Section remote);

}  // namespace tessera::sim
