// Reads the section `execution.collectives` of graphs: dimensions, their algorithms and costs.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::sim {

// Of collectives of `nodes`, in the order of NPUs. `load` gives the files of programs.
void read_collectives(config::Section section, const machine::Topology& topology,
                      const std::vector<EntityId>& nodes, const config::TextLoader& load,
                      executor::GraphOptions& options);
// Its keys, for `tessera list`.
std::vector<ParameterInfo> collective_parameters();

}  // namespace tessera::sim
