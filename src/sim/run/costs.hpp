// What a run costs its ranks while it goes on.
#pragma once

#include "run/rank_models.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

// A progress report of this rank.
trace::EngineRow engine_row(const RankModels& models, double wall_s);

// What this segment has cost so far; `end` is the simulated time it came to. Collective.
trace::SegmentCost cost_so_far(const RankModels& models, SimTime begin, SimTime end, double wall_s);

}  // namespace tessera::sim
