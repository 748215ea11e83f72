// Runs in which nothing is left to happen while the work is not done.
#pragma once

#include <string>

#include "run/rank_models.hpp"

namespace tessera::sim {

// Empty when every tile finished; else who waits for what. The same text on every rank. Collective.
std::string deadlock_report(const RankModels& models);

}  // namespace tessera::sim
