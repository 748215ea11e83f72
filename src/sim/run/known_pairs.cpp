#include "run/known_pairs.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera::sim {
namespace {

bool accesses_cross(const Platform& platform) {
  const machine::NodeOrder tiles = platform.machine.topology->computing_node_ids();
  return !platform.machine.channels.empty() &&
         std::any_of(tiles.begin(), tiles.end(), [&platform](EntityId tile) {
           bool cross = false;
           platform.memory->predict_events(
               platform.machine, tile, Bytes(1), false, [](EntityId, std::uint64_t) {},
               [&cross](EntityId from, EntityId to, Bytes, std::uint64_t) {
                 cross = cross || from != to;
               });
           return cross;
         });
}

}  // namespace

bool may_be_solved_apart(const Platform& platform, const Work& work) {
  return work.knows_pairs() && platform.memory->promises() && !accesses_cross(platform);
}

network::PairVisit pairs_of(const Work& work) {
  return [&work](const std::function<void(EntityId, EntityId)>& visit) { work.visit_pairs(visit); };
}

std::unique_ptr<network::PredictedTraffic> predicted_traffic(const Platform& platform,
                                                             const Work& work) {
  auto traffic = platform.network->predict_traffic(platform.machine);
  if (platform.network->needs_pairs() && may_be_solved_apart(platform, work)) {
    traffic->learn_routes(pairs_of(work));
  }
  return traffic;
}

}  // namespace tessera::sim
