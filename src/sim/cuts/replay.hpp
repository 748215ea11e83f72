// How long a run of a plan would take on the regions of a cut.
//
// Method: region_replay.hpp, of the passes that run (plan_times.hpp) and the messages between
// regions. Long collectives are thinned: one of several steps is followed and counts for all.
#pragma once

#include "cuts/region_replay.hpp"
#include "cuts/work.hpp"
#include "programs/plan_times.hpp"

namespace tessera::sim {

// O(n log n), n: passes * regions at work in each + messages that are followed: one for 1000
// events, between 10 000 and 100 000.
Replay replay_cut(const PlanTimes& times, const CutWork& work, int ranks,
                  const ReplayCosts& costs = {});

}  // namespace tessera::sim
