// Of two passes that take turns, what one hides of the other.
#include <algorithm>

#include "search/forecast/forecast.hpp"

namespace tessera::explore {

// What a tile computes and waits for it does one after the other, and so does it what goes on in
// the background, exchanges among it.
Span Forecaster::pair_time(const PassCost& one, const PassCost& other) {
  const PassCost both = PassCost(one) += other;
  return longest(longest(both.compute + both.blocking - both.exchanges, both.exchanges),
                 both.beside);
}

void Forecaster::pair_up(const std::vector<CountedPass>& forward,
                         const std::vector<CountedPass>& backward, const StageWalk& walk,
                         StageTimes& times) const {
  for (std::uint32_t chunk = 0; chunk < forward.size(); ++chunk) {
    const CountedPass& one = forward[chunk];
    const CountedPass& other = backward[1 - chunk];
    const Span together = pair_time(one.cost, other.cost);
    const Span apart = one.time + other.time;
    const double count = walk.pairs_of(chunk, strategy_.micro_batches);
    times.hidden += Span{std::max(0.0, apart.least - together.least),
                         std::max(0.0, apart.likely - together.likely)} *
                    count;
    times.passes.pairs[chunk] = together.likely;
  }
}

}  // namespace tessera::explore
