// About when the passes of a plan run, without a simulation: to see what waits for what.
//
// Method: the program of each stage's first tile is followed with the times that operations,
// messages and accesses take on an idle machine. Collectives take their steps one after the other;
// accesses share their channel with all tiles of the stage; background collectives and accesses end
// behind those begun before. A pass that receives from a stage beside waits for that. All replicas
// are taken to go in step, and nothing waits for busy links. Times are of one iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/plan_traffic.hpp"

namespace tessera::sim {

struct PlanTimes {
  // A run of a job, without what it waits for at its begin [ps].
  struct Run {
    std::uint32_t job = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  // A message to a stage beside [ps].
  struct Handing {
    std::uint32_t job = 0;
    Talk talk = Talk::next;
    std::int64_t sent = 0;
    std::int64_t arrives = 0;
  };
  std::vector<Run> runs;
  std::vector<Handing> handings;
  std::vector<std::int64_t> step;  // [exchanges] a message of a collective or an access takes
  std::int64_t hop = 1;            // to a node beside
  std::int64_t end = 0;
};

// Of the experiment's own plan. O(instructions of one tile a stage).
PlanTimes plan_times(const Experiment& experiment, const PlanTraffic& traffic);

}  // namespace tessera::sim
