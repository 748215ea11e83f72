#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::machine {

// nearest_channels (dram.hpp) of a grid with all its links. Hops along rows and along columns add
// up, so the nearest channel is found by sweeps: from each end of every row, then from each end of
// every column, a node takes over what its neighbour has, one hop further (the distance transform
// of Rosenfeld and Pfaltz, Pattern Recognition 1 (1968), in both dimensions one after the other).
// Memory is passed through in order, a few times.
std::vector<std::uint32_t> nearest_on_grid(const Grid& grid, const MemoryChannels& channels);

// The same of channels along edges, with dead links. Ways to the nearest channel go straight along
// a row or a column, so that nodes in others than those with dead links have the same channel as
// without them. O(such nodes * log).
ChannelOfNodes nearest_past_dead_links(const Topology& topology, const EdgeChannels& edges);

}  // namespace tessera::machine
