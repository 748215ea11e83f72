// Keys of the workload `serving`, for `tessera list`.
#pragma once

#include <vector>

#include "tessera/core/registry.hpp"

namespace tessera::sim {

std::vector<ParameterInfo> serving_parameters();
std::vector<ParameterInfo> served_tenant_parameters();

}  // namespace tessera::sim
