// What served models have, of which some keys of compute models are.
#pragma once

#include "tessera/compute/compute.hpp"
#include "tessera/executor/serving/serving.hpp"

namespace tessera::sim {

// Types of products are that of a language model, and those of the operators of other models with
// the fewest and the most samples; so are vector passes of NPU cores. Those of language models are
// of typical steps. On NPU cores no model has adapters or states.
compute::WorkTraits traits_of(const executor::ServingWork& work);

}  // namespace tessera::sim
