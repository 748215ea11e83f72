// Nodes that no work says anything about.
#pragma once

#include "tessera/core/sparse_table.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// Gives every node without an owner (`no_owner`) that of the nearest one with one, by links; of
// several the one found first in order of nodes and ports. Rank 0 has what no link leads to. On a
// vast grid this goes for the rectangle around nodes with an owner; others have that of the nearest
// node of the rectangle. O(links), there of the rectangle.
machine::Owners give_idle_nodes(const machine::Topology& topology, const SparseTable& owner);

}  // namespace tessera::sim
