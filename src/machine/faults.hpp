// Links and nodes that are worse than the machine's others.
#pragma once

#include <memory>

#include "tessera/machine/node_speeds.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Reads `faults` of a machine's section (machine.hpp), if it is there; complaints are left in it.
// Gives the topology with those links, puts the speeds of nodes that are slower in `speeds`, and
// says in `is_whole` whether a way leads from each node to all others.
std::unique_ptr<Topology> apply_faults(config::Section& machine, std::unique_ptr<Topology> topology,
                                       NodeSpeeds& speeds, bool& is_whole);

}  // namespace tessera::machine
