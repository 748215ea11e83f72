// What users are told of plans in which one tile stands for many (strategy.aggregation).
#pragma once

#include <string>
#include <vector>

#include "tessera/plan/plan.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

void note_aggregation(const Platform& platform, const plan::Plan& plan, bool uses_memory,
                      std::vector<std::string>& notes);

}  // namespace tessera::sim
