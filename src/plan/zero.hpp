// Keys of what replicas share out: ZeRO, over all of them or in groups, and its gathers.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/plan/strategy.hpp"

namespace tessera::plan {

// In the order of the reference.
std::vector<ParameterInfo> zero_parameters();

// Reads them; the degrees of `strategy` are read.
void read_zero(config::Section& section, Strategy& strategy);

}  // namespace tessera::plan
