// Tiles that stand for others on a machine with slow ones.
#pragma once

#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// With strategy.aggregation every tile that is simulated becomes as slow as the slowest of those
// that it stands for: where these go in step, all wait for that one. Replicas of a stage meet
// once an iteration only, so that stages whose slowest tiles are of several replicas take no less
// than in a run of all tiles. Changes speeds of the experiment's machine; call once, when jobs have
// their places.
void slow_down_to_slowest(Experiment& experiment);

}  // namespace tessera::sim
