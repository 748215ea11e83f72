// How long a run of a plan would take on the regions of a cut.
//
// Method: every region goes through simulated time in order. Its events are those of the passes
// that run (plan_times.hpp), spread evenly over each; a message from another region is waited for
// until it has been sent there, in the wall time of that region, and has come. So promises are
// taken to be as good as can be: a region never waits for what does not come.
//
// Assumed: an event takes 70 ns (measured on runs of plans: 53 to 80 ns); a message comes after
// 1.3 µs (measured, two ranks of one machine) and half of the 256 events from one statement of a
// rank to the next (promise_policy.cpp), and takes each side the time of 20: a statement, a batch,
// and what a model keeps of a packet that crosses. Work is not as even as that: what goes in the
// midst of a pass comes later by `burst` of the work between two such messages. Long collectives
// are thinned: one of several steps is followed and counts for all.
#pragma once

#include <cstdint>

#include "cuts/cut_work.hpp"
#include "programs/plan_times.hpp"

namespace tessera::sim {

struct ReplayCosts {
  double event_s = 70e-9;
  double message_s = 1.3e-6 + 128 * 70e-9;  // until it is there
  double side_s = 20 * 70e-9;               // of processor time at either end
  // Fitted to replays of measured events with cuts that know the machine alone: see
  // docs/design/0021-cuts.md.
  double burst = 0.25;
};

// Of one iteration.
struct Replay {
  double one_rank_s = 0;
  double wall_s = 0;
  std::uint64_t messages = 0;  // between regions
  std::uint64_t waits = 0;     // of the region that waits most often
  double imbalance = 1;        // most events of a region over the mean
  double speed_up() const { return wall_s > 0 ? one_rank_s / wall_s : 1; }
};

// O(n log n), n: passes * regions at work in each + messages that are followed: one for 1000
// events, between 10 000 and 100 000.
Replay replay_cut(const PlanTimes& times, const CutWork& work, int ranks,
                  const ReplayCosts& costs = {});

}  // namespace tessera::sim
