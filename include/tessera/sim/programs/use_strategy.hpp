// Another strategy for the same work.
#pragma once

#include "tessera/plan/strategy.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Plans the work of the experiment's only job by this strategy, as if it had been read so; the
// resolved configuration stays. Throws ConfigError where it does not fit the machine, and leaves
// the experiment as it was then.
void use_strategy(Experiment& experiment, const plan::Strategy& strategy);

}  // namespace tessera::sim
