// The keys of an experiment file, but for those of its parts.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/key.hpp"

namespace tessera::sim {

// A title; its default is the file's name.
const config::DerivedKey<std::string>& experiment_name();
// `workload.kind`, of every kind that there is.
const config::NameKey& work_kind_key();

// All of them, for `tessera list`.
std::vector<ParameterInfo> experiment_parameters();

}  // namespace tessera::sim
