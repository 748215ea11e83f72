#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/core/error.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {
namespace {

// Fewest consecutive runs that hold all layers with no run above `limit`.
std::size_t runs_within(const std::vector<std::uint64_t>& costs, std::uint64_t limit) {
  std::size_t runs = 1;
  std::uint64_t load = 0;
  for (const std::uint64_t cost : costs) {
    if (load + cost > limit) {
      ++runs;
      load = 0;
    }
    load += cost;
  }
  return runs;
}

std::uint64_t smallest_limit(const std::vector<std::uint64_t>& costs, std::size_t stages) {
  std::uint64_t low = *std::max_element(costs.begin(), costs.end());
  std::uint64_t high = std::accumulate(costs.begin(), costs.end(), std::uint64_t{0});
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (runs_within(costs, middle) > stages) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

std::vector<std::size_t> balance_layers(const std::vector<std::uint64_t>& costs,
                                        std::size_t stages) {
  const std::size_t layers = costs.size();
  ensure(stages > 0 && stages <= layers, "a layer for each stage");
  const std::uint64_t limit = smallest_limit(costs, stages);
  const auto scale = static_cast<double>(std::max<std::uint64_t>(limit, 1));
  constexpr double impossible = std::numeric_limits<double>::infinity();
  // best[l]: smallest sum of squared loads of the stages so far, over the first l layers.
  std::vector<double> best(layers + 1, impossible);
  best[0] = 0;
  std::vector<std::vector<std::uint32_t>> cut(stages, std::vector<std::uint32_t>(layers + 1));
  for (std::size_t stage = 0; stage < stages; ++stage) {
    std::vector<double> next(layers + 1, impossible);
    for (std::size_t end = stage + 1; end <= layers; ++end) {
      std::uint64_t load = 0;
      for (std::size_t first = end; first > stage;) {
        load += costs[--first];
        if (load > limit) {
          break;
        }
        const auto share = static_cast<double>(load) / scale;
        if (best[first] + share * share < next[end]) {
          next[end] = best[first] + share * share;
          cut[stage][end] = static_cast<std::uint32_t>(first);
        }
      }
    }
    best.swap(next);
  }
  ensure(best[layers] < impossible, "balanced layers fill every stage");
  std::vector<std::size_t> first(stages + 1, layers);
  for (std::size_t stage = stages; stage > 0; --stage) {
    first[stage - 1] = cut[stage - 1][first[stage]];
  }
  return first;
}

}  // namespace tessera::plan
