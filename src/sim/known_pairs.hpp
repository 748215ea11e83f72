// Which nodes exchange messages, as far as work and memory tell it before a run.
#pragma once

#include <memory>

#include "tessera/network/network.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Whether Work::visit_pairs() visits all there are. A memory that promises sends between a tile and
// its channel; others may spread accesses over several.
bool knows_all_pairs(const Platform& platform, const Work& work);

// Those that the work visits; refers to it.
network::PairVisit pairs_of(const Work& work);

// Events of messages, where the network knows of the pairs what it needs.
std::unique_ptr<network::PredictedTraffic> predicted_traffic(const Platform& platform,
                                                             const Work& work);

}  // namespace tessera::sim
