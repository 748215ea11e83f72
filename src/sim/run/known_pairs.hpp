// Which nodes exchange messages, as far as work and memory tell it before a run.
#pragma once

#include <memory>

#include "tessera/network/network.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Whether a network that needs pairs (NetworkModel::needs_pairs) is told those of
// Work::visit_pairs(): they are all there are, and nothing depends on which of two messages that
// arrive at one instant is taken first, which may be another one then. Requests at a channel are
// served in that order, so accesses must not go over links. A memory that promises asks a tile's
// own channel alone; others may spread accesses.
bool may_be_solved_apart(const Platform& platform, const Work& work);

// Those that the work visits; refers to it.
network::PairVisit pairs_of(const Work& work);

// Events of messages, where the network knows of the pairs what it needs.
std::unique_ptr<network::PredictedTraffic> predicted_traffic(const Platform& platform,
                                                             const Work& work);

}  // namespace tessera::sim
