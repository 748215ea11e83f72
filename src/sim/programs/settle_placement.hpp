// Which placement of several is the fastest, found by running them.
#pragma once

#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Of `placement.layout: optimized`: what is optimised is traffic, not time, and a named layout may
// be faster. Where the work is small enough, an iteration with each is simulated, every rank for
// itself, else estimated, and the fastest taken; the first of those that are equally fast, the
// optimised one before all. From then on the placement stands, so that plans made again,
// with fewer micro-batches, lie alike. Leaves other work as it is.
// Of one of several jobs, as if it had the machine to itself, on its own tiles.
void settle_placement(Experiment& experiment, PlacedJob& placed);

}  // namespace tessera::sim
