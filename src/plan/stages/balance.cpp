#include <algorithm>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {
namespace {

// Costs of layers by stage; as shares of themselves where their sum has no room in 64 bits.
class Costs {
 public:
  Costs(const std::vector<std::vector<std::uint64_t>>& of_kinds,
        const std::vector<std::size_t>& kind_of)
      : of_kinds_(of_kinds),
        kind_of_(kind_of),
        alike_(std::all_of(kind_of.begin(), kind_of.end(),
                           [&](std::size_t kind) { return kind == kind_of.front(); })) {
    double sum = 0;
    for (std::size_t layer = 0; layer < layers(); ++layer) {
      sum += static_cast<double>(most_at(layer));
    }
    for (constexpr double room = 0x1p63; sum >= room; sum /= 2) {
      ++shift_;
    }
  }
  // Whether a layer costs the same in every stage.
  bool alike() const { return alike_; }
  std::size_t stages() const { return kind_of_.size(); }
  std::size_t layers() const { return of_kinds_.front().size(); }
  std::uint64_t at(std::size_t stage, std::size_t layer) const {
    return of_kinds_[kind_of_[stage]][layer] >> shift_;
  }
  // In the stage where it costs most.
  std::uint64_t most_at(std::size_t layer) const {
    std::uint64_t most = 0;
    for (std::size_t stage = 0; stage < stages(); ++stage) {
      most = std::max(most, at(stage, layer));
    }
    return most;
  }

 private:
  const std::vector<std::vector<std::uint64_t>>& of_kinds_;
  const std::vector<std::size_t>& kind_of_;
  bool alike_;
  unsigned shift_ = 0;
};

// As `fits`, where a layer costs the same in every stage: each stage takes what it can, and stages
// that are left over take single layers from the others.
bool fits_alike(const Costs& costs, std::uint64_t limit) {
  std::size_t stages = 1;
  std::uint64_t load = 0;
  for (std::size_t layer = 0; layer < costs.layers(); ++layer) {
    const std::uint64_t cost = costs.at(0, layer);
    if (cost > limit) {
      return false;
    }
    if (cost > limit - load) {
      load = 0;
      ++stages;
    }
    load += cost;
  }
  return stages <= costs.stages();
}

// Whether no stage need cost more than `limit`. For each stage, from every layer at which the ones
// before may end, a window of layers that fit.
bool fits(const Costs& costs, std::uint64_t limit) {
  if (costs.alike()) {
    return fits_alike(costs, limit);
  }
  const std::size_t layers = costs.layers();
  std::vector<bool> ends(layers + 1, false);
  ends[0] = true;
  for (std::size_t stage = 0; stage < costs.stages(); ++stage) {
    std::vector<bool> next(layers + 1, false);
    std::size_t beyond = 0;  // the first layer that does not fit any more
    std::size_t marked = 0;
    std::uint64_t load = 0;
    for (std::size_t first = 0; first < layers; ++first) {
      if (beyond < first) {
        beyond = first;
        load = 0;
      }
      while (beyond < layers && costs.at(stage, beyond) <= limit - load) {
        load += costs.at(stage, beyond++);
      }
      if (ends[first]) {
        for (marked = std::max(marked, first); marked < beyond; ++marked) {
          next[marked + 1] = true;
        }
      }
      if (beyond > first) {
        load -= costs.at(stage, first);
      }
    }
    ends.swap(next);
  }
  return ends[layers];
}

std::uint64_t smallest_limit(const Costs& costs) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t layer = 0; layer < costs.layers(); ++layer) {
    high += costs.most_at(layer);
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fits(costs, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::vector<std::size_t> balance_layers(const std::vector<std::vector<std::uint64_t>>& costs,
                                        const std::vector<std::size_t>& kind_of) {
  const Costs all(costs, kind_of);
  const std::size_t stages = all.stages();
  const std::size_t layers = all.layers();
  ensure(stages > 0 && stages <= layers, "a layer for each stage");
  const std::uint64_t limit = smallest_limit(all);
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
        load += all.at(stage, --first);
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
