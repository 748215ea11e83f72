// What a machine may say, for `tessera list`: the keys that `read_machine` reads beside the
// topology's; and notes of keys that work makes nothing of.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
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

// Notes of what `tile` and `types` of a machine say of shares of peaks and of SRAM.
void note_tile_keys_without_effect(config::Section& machine, std::string_view with);

}  // namespace tessera::machine
