// Nodes that no work says anything about.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/topology/topology.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// Gives every node without an owner (`no_owner`) that of the nearest one with one, by links; of
// several the one found first in order of nodes and ports. Rank 0 has what no link leads to.
// O(links).
void give_idle_nodes(const machine::Topology& topology, std::vector<std::uint32_t>& owner);

}  // namespace tessera::sim
