// Tiles of several types, and which node has which.
#pragma once

#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::machine {

// Complaints go to the sections.
Tile read_tile(config::Section& section);
// The `types` of a machine's section, in the order of the file.
std::vector<Tile> read_types(config::Section& machine);
// Puts into the machine those that the topology's nodes have. One that is the only one takes the
// place of `tile`.
void assign_types(config::Section& section, const std::vector<Tile>& types, Machine& machine);
// Channels as the types of their nodes say, and memories for those they belong to.
void adjust_channels(config::Section& section, Machine& machine);

}  // namespace tessera::machine
