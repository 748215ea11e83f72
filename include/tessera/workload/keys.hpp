// Keys that the section `workload` has whatever its kind.
#pragma once

#include <string>

#include "tessera/config/key.hpp"

namespace tessera::workload {

// What kind of work it is: one of these.
config::NameKey kind_key(config::NameKey::Names kinds);
// A title; its default is the kind.
const config::DerivedKey<std::string>& title_key();
// As a workload of any kind says it.
std::string read_title(config::Section& workload);

}  // namespace tessera::workload
