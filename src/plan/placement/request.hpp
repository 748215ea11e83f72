// Reads the `placement` section of a strategy.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {

std::vector<ParameterInfo> placement_parameters();

// Fills `layout` and `placement` of a strategy whose degrees have been read.
void read_placement(config::Section section, const workload::Workload& workload,
                    const machine::Topology& topology, Strategy& strategy);

}  // namespace tessera::plan
