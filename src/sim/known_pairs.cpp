#include "known_pairs.hpp"

#include <functional>

namespace tessera::sim {

bool knows_all_pairs(const Platform& platform, const Work& work) {
  return work.knows_pairs() && platform.memory->promises();
}

network::PairVisit pairs_of(const Work& work) {
  return [&work](const std::function<void(EntityId, EntityId)>& visit) { work.visit_pairs(visit); };
}

std::unique_ptr<network::PredictedTraffic> predicted_traffic(const Platform& platform,
                                                             const Work& work) {
  auto traffic = platform.network->predict_traffic(platform.machine);
  if (platform.network->needs_pairs() && knows_all_pairs(platform, work)) {
    traffic->learn_routes(pairs_of(work));
  }
  return traffic;
}

}  // namespace tessera::sim
