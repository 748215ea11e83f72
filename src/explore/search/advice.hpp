// What would make a strategy fit that does not.
#pragma once

#include "search/forecast/forecast.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {

// Says of `candidate`, which does not fit, what is missing where, and what each of these would do
// for it alone: recomputation, ZeRO, sequence parallelism, more stages, fewer replicas, smaller
// micro-batches; and how many tiles the state of the model needs at least.
Advice advise(const Candidate& candidate, const CandidateLimits& limits,
              const machine::Machine& machine, Forecaster& forecaster);

}  // namespace tessera::explore
