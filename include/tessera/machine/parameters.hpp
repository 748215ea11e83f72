// What a machine may say of its tiles and its DRAM, for `tessera list`: the keys that
// `read_machine` reads beside the topology's.
#pragma once

#include <vector>

#include "tessera/core/registry.hpp"

namespace tessera::machine {

// Of the sections `tile` and `dram`.
std::vector<ParameterInfo> tile_parameters();
std::vector<ParameterInfo> dram_parameters();

}  // namespace tessera::machine
