// What must come out even at the end of a run.
#pragma once

#include <cstdint>

#include "run/rank_models.hpp"

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

// Messages of one size that nodes of this rank sent and got.
struct SyntheticTraffic {
  std::uint64_t sent = 0;
  std::uint64_t come = 0;
  bool all_came = false;  // on all ranks: nothing is under way
  Bytes message;
  Bytes unit;  // in whole ones of which the network counts
};

// Of a load of `tessera traffic`: the network took what was sent, and delivered it, and it came;
// where traffic was still under way, no more than that. As check_conservation else.
void check_traffic(const SyntheticTraffic& traffic, const network::Carried& carried,
                   comm::Communicator& communicator);

}  // namespace tessera::sim
