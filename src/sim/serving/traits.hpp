// What served models have, of which some keys of compute models are.
#pragma once

#include "tessera/compute/compute.hpp"
#include "tessera/executor/serving/serving.hpp"

namespace tessera::sim {

// Types of products are known of language models, which compute in one; vector passes of those on
// NPU cores, without adapters and states.
compute::WorkTraits traits_of(const executor::ServingWork& work);

}  // namespace tessera::sim
