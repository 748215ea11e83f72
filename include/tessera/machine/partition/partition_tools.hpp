// What the partitioners share.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/partition/partition.hpp"

namespace tessera::machine {

// Throws ConfigError when there are fewer nodes than ranks or less than one rank.
void check_request(const Topology& topology, int ranks, const Weights& weights);

// Cuts a run of items into `parts` runs of nearly equal load, each with at least one item: the
// first item of every part, and the number of items at the end. Equal loads give lengths that
// differ by one at most. Requires 1 <= parts <= loads.size().
std::vector<std::uint32_t> even_cuts(const std::vector<std::uint64_t>& loads, std::uint32_t parts);

// One rank has all: takes no memory for its nodes.
Partition partition_of_one(const Topology& topology);

// Whether a machine is a grid of so many nodes that those which no work touches are not looked at
// one by one: it is cut by parts of the grid (GridParts), and dead links count as any.
bool is_vast(const Topology& topology);

// Fills in the members, the cut and the imbalance.
Partition partition_from(const Topology& topology, int ranks, Owners owner, const Weights& weights);

}  // namespace tessera::machine
