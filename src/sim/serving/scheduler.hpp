// The scheduler of served tenants.
#pragma once

#include <cstddef>

#include "tessera/config/document.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/serving/policy.hpp"

namespace tessera::sim {

// What shares NPUs out among the tenants of `work`, which come from so many `sections` of
// `workload`. A policy without effect is noted. Empty after a complaint.
serving::PolicyFactory read_scheduler(config::Section& workload, const executor::ServingWork& work,
                                      std::size_t sections, const serving::PolicySetup& setup);

}  // namespace tessera::sim
