// Memories behind the caches of served models: what graphs know as remote memory (the machine's
// `remote_memory`, else its nodes that are memories), else that of the hosts.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// For `tessera list`.
std::vector<ParameterInfo> tier_parameters();

// `batching.tier` of a tenant, if it has one; where the memory is, is settled later.
void read_tier(config::Section batching, const executor::ServingWork& work,
               executor::ServiceSettings& tenant);

// Which memory each unit has behind it, and how many blocks. Complains where there is none, or too
// little. `workload` is the section that the work was read from. Returns whether it is the hosts'.
bool settle_tiers(const Platform& platform, executor::ServingWork& work, config::Section workload);

// Whether caches or adapters of any tenant are in a memory behind that of its units.
bool has_memory_behind(const executor::ServingWork& work);

// What tiers take at nodes that are memories.
Job::BytesByNode kept_in_tiers(const executor::ServingWork& work);

}  // namespace tessera::sim
