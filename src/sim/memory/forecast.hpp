// What a run would look like, of one that begins.
#pragma once

#include "tessera/sim/simulation.hpp"

namespace tessera::sim {

// The same as `forecast`, of an experiment whose models are made: what cannot be planned has been
// refused, so that messages need not be looked at where the network cuts none.
Forecast forecast_of_run(const Experiment& experiment, machine::Partition partition);

}  // namespace tessera::sim
