// Tiles of several types, and which node has which.
#pragma once

#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::machine {

// Complaints go to the sections. What is not given is as in `usual`.
Tile read_tile(config::Section& section, const Tile& usual);
// The `types` of a machine's section, in the order of the file. Those without `peak` are as `usual`
// in all that they do not give.
std::vector<Tile> read_types(config::Section& machine, const Tile& usual);
// Puts into the machine those that the topology's nodes have, or that list nodes. One that is the
// only one takes the place of `tile`.
void assign_types(config::Section& section, const std::vector<Tile>& types, Machine& machine);
// Channels as the types of their nodes say, and memories for those they belong to.
void adjust_channels(config::Section& section, Machine& machine);

}  // namespace tessera::machine
