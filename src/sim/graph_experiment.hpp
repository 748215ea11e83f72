// Experiments whose workload is graphs: what they say of how graphs are executed.
#pragma once

#include <memory>

#include "tessera/config/document.hpp"
#include "tessera/executor/graph.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/memory/remote.hpp"

namespace tessera::sim {

// Whether the workload section names a kind of graphs.
bool is_graph(const config::Value& workload);

// Reads the sections `workload` and `execution` and looks through the graphs. Complaints go to the
// sections' diagnostics; ConfigError for those of trace files.
std::unique_ptr<executor::GraphWork> read_graphs(config::Section& workload,
                                                 config::Section execution,
                                                 const machine::Machine& machine,
                                                 const memory::RemoteMemory* remote,
                                                 const config::TextLoader& load);

}  // namespace tessera::sim
