// What a machine may say, for `tessera list`: the keys that `read_machine` reads beside the
// topology's.
#pragma once

#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::machine {

// Of the machine itself, beside its sections.
std::vector<ParameterInfo> machine_parameters();
// Which of the topologies it has.
const config::NameKey& topology_kind_key();
// Of the sections `tile`, one of `types`, `dram` and `faults`.
std::vector<ParameterInfo> tile_parameters();
std::vector<ParameterInfo> type_parameters();
std::vector<ParameterInfo> dram_parameters();
std::vector<ParameterInfo> fault_parameters();

}  // namespace tessera::machine
