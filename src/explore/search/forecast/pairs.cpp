// Of two passes that take turns, what one hides of the other.
#include <algorithm>

#include "search/forecast/forecast.hpp"

namespace tessera::explore {

// What a tile computes and waits for it does one after the other, and so does it what goes on in
// the background, exchanges among it.
Span Forecaster::pair_time(const PassCost& one, const PassCost& other) {
  const PassCost both = PassCost(one) += other;
  const Span lost{0, time_lost(both.slowing, both.compute.likely, both.beside.likely)};
  return longest(longest(both.compute + both.blocking + lost - both.exchanges, both.exchanges),
                 both.beside);
}

void Forecaster::pair_up(const std::vector<CountedPass>& forward,
                         const std::vector<CountedPass>& backward, StageTimes& times) {
  for (std::uint32_t chunk = 0; chunk < forward.size(); ++chunk) {
    const CountedPass& one = forward[chunk];
    const CountedPass& other = backward[1 - chunk];
    const Span together = pair_time(one.cost, other.cost);
    const Span apart = one.time + other.time;
    times.hidden_by_pair[chunk] = {std::max(0.0, apart.least - together.least),
                                   std::max(0.0, apart.likely - together.likely)};
    times.passes.pairs[chunk] = together.likely;
  }
}

// In an iteration. Stages with the same layers have as many pairs as their place asks for.
Span Forecaster::hidden_in(std::size_t stage, const StageTimes& times) {
  if (!strategy_.overlap_passes) {
    return {};
  }
  Span hidden;
  for (std::uint32_t chunk = 0; chunk < times.hidden_by_pair.size(); ++chunk) {
    const double count = stage_walks()[stage].pairs_of(chunk, strategy_.micro_batches);
    hidden += times.hidden_by_pair[chunk] * count;
  }
  return hidden;
}

}  // namespace tessera::explore
