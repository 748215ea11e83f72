// What would make a strategy fit that does not.
#pragma once

#include "search/forecast/forecast.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

// Says of `candidate`, which does not fit, what is missing where, and what each of these would do
// for it alone: recomputation, ZeRO, sequence parallelism, more stages, fewer replicas, smaller
// micro-batches; what they come to together, each taken while it helps; what the devices have room
// for, and on how many more it would fit.
Advice advise(const Candidate& candidate, const CandidateLimits& limits,
              const machine::Machine& machine, Forecaster& forecaster);

}  // namespace tessera::explore
