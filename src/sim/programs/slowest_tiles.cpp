#include "programs/slowest_tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::sim {
namespace {

void slow_down(machine::Machine& machine, const plan::Plan& plan) {
  const std::uint32_t group = plan.stage_tiles() / plan.simulated_tiles();
  const auto& tiles = plan.placement.tiles();
  for (std::uint32_t first = 0; first < tiles.size(); first += group) {
    Fraction least = Fraction::millionths(Fraction::one);
    for (std::uint32_t role = first; role < first + group; ++role) {
      const auto slow = machine.speeds.find(tiles[role]);
      least = slow == machine.speeds.end() ? least : std::min(least, slow->second);
    }
    if (least.millionths() < Fraction::one) {
      machine.speeds[tiles[first]] = least;
    }
  }
}

}  // namespace

void slow_down_to_slowest(Experiment& experiment) {
  if (experiment.machine.speeds.empty()) {
    return;
  }
  for (PlacedJob& placed : experiment.jobs) {
    const PlannedWork* const planned = placed.job->planned();
    if (planned != nullptr && planned->plan.strategy.aggregation != plan::Aggregation::none) {
      slow_down(experiment.machine, planned->plan);
    }
  }
}

}  // namespace tessera::sim
