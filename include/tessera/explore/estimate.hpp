// How long an iteration would take, without simulating it.
#pragma once

#include <memory>

#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::explore {

// Estimates iterations of experiments on one machine from their plans alone, to tell which ones are
// worth a simulation. Method: PALM's equation (1) with more in it than arithmetic. A stage is busy
// for the sum of its schedule's passes; the iteration takes the busiest stage, one micro-batch
// through all others, which fill and drain the pipeline, and the boundary tensors on the way of
// the first micro-batch there and back.
//   - A pass takes the longest of three: its operators and collectives one after the other; its
//     collectives in the background; its DRAM accesses, where the tiles of its stage share their
//     channels and other stages are at rest. No iteration is shorter than all accesses to the
//     busiest channel take.
//   - A step of a collective takes the largest latency and the smallest bandwidth on the routes
//     between neighbours of its group; at most 16 of them, spread over the group, are looked at, in
//     one group a stage.
// Left out: messages in each other's way, and so the estimate is nearer a lower bound. Schedules
// that fill the bubble otherwise than 1F1B are overestimated by what they gain.
// Cost: O(instructions of a phase) a stage, and O(tiles).
class Estimator {
 public:
  // `machine` must outlive it, and be the machine of all experiments.
  explicit Estimator(const machine::Machine& machine);
  SimTime iteration(const sim::Experiment& experiment) const;

 private:
  const machine::Machine& machine_;
  std::unique_ptr<machine::Routing> routing_;
};

}  // namespace tessera::explore
