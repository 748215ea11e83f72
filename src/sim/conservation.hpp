// What must come out even at the end of a run.
#pragma once

#include "rank_models.hpp"

namespace tessera::sim {

// Of a run that came to its end: all instructions were done, as many bytes (messages, of graphs)
// were taken as were sent, memories moved what programs asked for, and the time of every tile adds
// up to its end. Throws InternalError naming what does not. Collective.
void check_conservation(const RankModels& models);

}  // namespace tessera::sim
