#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {
namespace {

using ::testing::ElementsAre;

struct Quality {
  std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t squares = std::numeric_limits<std::uint64_t>::max();
  friend auto operator<=>(const Quality&, const Quality&) = default;
};

Quality quality_of(const std::vector<std::uint64_t>& costs, const std::vector<std::size_t>& cuts) {
  Quality quality{0, 0};
  for (std::size_t stage = 0; stage + 1 < cuts.size(); ++stage) {
    std::uint64_t load = 0;
    for (std::size_t layer = cuts[stage]; layer < cuts[stage + 1]; ++layer) {
      load += costs[layer];
    }
    quality.largest = std::max(quality.largest, load);
    quality.squares += load * load;
  }
  return quality;
}

// Tries all ways to cut.
void best_of_all(const std::vector<std::uint64_t>& costs, std::size_t stages,
                 std::vector<std::size_t>& cuts, Quality& best) {
  if (cuts.size() == stages) {
    cuts.push_back(costs.size());
    best = std::min(best, quality_of(costs, cuts));
    cuts.pop_back();
    return;
  }
  for (std::size_t first = cuts.back() + 1; first < costs.size(); ++first) {
    cuts.push_back(first);
    best_of_all(costs, stages, cuts, best);
    cuts.pop_back();
  }
}

TEST(BalanceLayers, IsAsGoodAsTheBestOfAllCuts) {
  RandomStream random(1, EntityId(0), 0);
  for (std::size_t layers = 1; layers <= 9; ++layers) {
    for (std::size_t stages = 1; stages <= layers; ++stages) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        std::vector<std::uint64_t> costs;
        for (std::size_t i = 0; i < layers; ++i) {
          costs.push_back(1 + random.next_below(repeat % 2 == 0 ? 4 : 1000));
        }
        const std::vector<std::size_t> cuts = balance_layers(costs, stages);
        ASSERT_EQ(cuts.size(), stages + 1);
        EXPECT_EQ(cuts.front(), 0U);
        EXPECT_EQ(cuts.back(), layers);
        for (std::size_t stage = 0; stage < stages; ++stage) {
          EXPECT_LT(cuts[stage], cuts[stage + 1]);
        }
        Quality best;
        std::vector<std::size_t> tried{0};
        best_of_all(costs, stages, tried, best);
        EXPECT_EQ(quality_of(costs, cuts), best) << layers << " layers, " << stages << " stages";
      }
    }
  }
}

TEST(BalanceLayers, CutsEqualLayersEvenly) {
  EXPECT_THAT(balance_layers(std::vector<std::uint64_t>(12, 7), 4), ElementsAre(0, 3, 6, 9, 12));
}

TEST(BalanceLayers, TakesLayersThatCostNothing) {
  EXPECT_THAT(balance_layers({0, 0, 0}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(balance_layers({0, 0, 5, 0}, 4), ElementsAre(0, 1, 2, 3, 4));
}

TEST(BalanceLayers, NeedsALayerForEachStage) {
  EXPECT_THROW(balance_layers({1, 2}, 3), InternalError);
  EXPECT_THROW(balance_layers({1, 2}, 0), InternalError);
}

}  // namespace
}  // namespace tessera::plan
