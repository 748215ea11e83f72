// What must come out even at the end of a run.
#pragma once

#include <optional>

#include "rank_models.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// Of a run that came to its end:
//   - all instructions were done, and the FLOPs of plans;
//   - as many bytes were taken as were sent, by traffic, kind of collective, or between NPUs;
//   - networks delivered the messages and the bytes that they took;
//   - requests that came were served with all their tokens, which steps computed, and caches never
//     had more blocks taken than they have, and got back what prefixes do not hold;
//   - memories moved what programs asked for; devices took the bytes of accesses, and moved,
//     answered or still hold the bursts of these;
//   - the time of every tile adds up to its end.
// Throws InternalError naming what does not. Collective; sums that models keep anyway are added up
// over ranks.
void check_conservation(const RankModels& models);

// So far, by all ranks; collective. Bytes that memory was asked for: none where they are not
// counted. And that its channels moved, whole bursts where it has such: none where it keeps no
// account.
std::optional<Work::Accessed> bytes_asked_for(const RankModels& models);
std::optional<Work::Accessed> bytes_moved(const RankModels& models);

}  // namespace tessera::sim
