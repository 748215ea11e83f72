// The workload `serving`.
#pragma once

#include <vector>

#include "tessera/core/registry.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

// Keys, for `tessera list`.
std::vector<ParameterInfo> serving_parameters();
std::vector<ParameterInfo> served_tenant_parameters();

// What a job serves; null: it is other work.
const executor::ServingWork* served_by(const Job& job);

}  // namespace tessera::sim
