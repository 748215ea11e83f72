#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan::balance_test {
namespace {

using ::testing::ElementsAre;

struct Quality {
  std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t squares = std::numeric_limits<std::uint64_t>::max();
  friend auto operator<=>(const Quality&, const Quality&) = default;
};

using Costs = std::vector<std::vector<std::uint64_t>>;
using Kinds = std::vector<std::size_t>;

Quality quality_of(const Costs& costs, const Kinds& kind_of, const std::vector<std::size_t>& cuts) {
  Quality quality{0, 0};
  for (std::size_t stage = 0; stage + 1 < cuts.size(); ++stage) {
    std::uint64_t load = 0;
    for (std::size_t layer = cuts[stage]; layer < cuts[stage + 1]; ++layer) {
      load += costs[kind_of[stage]][layer];
    }
    quality.largest = std::max(quality.largest, load);
    quality.squares += load * load;
  }
  return quality;
}

// Tries all ways to cut.
void best_of_all(const Costs& costs, const Kinds& kind_of, std::vector<std::size_t>& cuts,
                 Quality& best) {
  const std::size_t layers = costs.front().size();
  if (cuts.size() == kind_of.size()) {
    cuts.push_back(layers);
    best = std::min(best, quality_of(costs, kind_of, cuts));
    cuts.pop_back();
    return;
  }
  for (std::size_t first = cuts.back() + 1; first < layers; ++first) {
    cuts.push_back(first);
    best_of_all(costs, kind_of, cuts, best);
    cuts.pop_back();
  }
}

void expect_the_best(const Costs& costs, const Kinds& kind_of) {
  const std::size_t layers = costs.front().size();
  const std::size_t stages = kind_of.size();
  const std::vector<std::size_t> cuts = balance_layers(costs, kind_of);
  ASSERT_EQ(cuts.size(), stages + 1);
  EXPECT_EQ(cuts.front(), 0U);
  EXPECT_EQ(cuts.back(), layers);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    EXPECT_LT(cuts[stage], cuts[stage + 1]);
  }
  Quality best;
  std::vector<std::size_t> tried{0};
  best_of_all(costs, kind_of, tried, best);
  EXPECT_EQ(quality_of(costs, kind_of, cuts), best) << layers << " layers, " << stages << " stages";
}

// Of one kind of stages, of two, and of three.
TEST(BalanceLayers, IsAsGoodAsTheBestOfAllCuts) {
  RandomStream random(1, EntityId(0), 0);
  for (std::size_t layers = 1; layers <= 9; ++layers) {
    for (std::size_t stages = 1; stages <= layers; ++stages) {
      for (std::size_t repeat = 0; repeat < 12; ++repeat) {
        Costs costs(1 + repeat / 4);
        for (std::vector<std::uint64_t>& kind : costs) {
          for (std::size_t i = 0; i < layers; ++i) {
            kind.push_back(random.next_below(repeat % 2 == 0 ? 5 : 1000));
          }
        }
        Kinds kind_of;
        for (std::size_t stage = 0; stage < stages; ++stage) {
          kind_of.push_back(random.next_below(costs.size()));
        }
        expect_the_best(costs, kind_of);
      }
    }
  }
}

std::vector<std::size_t> balanced(const std::vector<std::uint64_t>& costs, std::size_t stages) {
  return balance_layers({costs}, Kinds(stages, 0));
}

TEST(BalanceLayers, CutsEqualLayersEvenly) {
  EXPECT_THAT(balanced(std::vector<std::uint64_t>(12, 7), 4), ElementsAre(0, 3, 6, 9, 12));
}

// Twelve alike: on the first stage a layer takes a third of what it takes on the second.
TEST(BalanceLayers, GivesSlowStagesLess) {
  const Costs costs{std::vector<std::uint64_t>(12, 1), std::vector<std::uint64_t>(12, 3)};
  EXPECT_THAT(balance_layers(costs, {0, 1}), ElementsAre(0, 9, 12));
  EXPECT_THAT(balance_layers(costs, {1, 0}), ElementsAre(0, 3, 12));
}

TEST(BalanceLayers, AddsUpCostsWhoseSumHasNoRoom) {
  const std::vector<std::uint64_t> costs(6, std::uint64_t{1} << 62);
  EXPECT_THAT(balance_layers({costs}, {0, 0, 0}), ElementsAre(0, 2, 4, 6));
}

TEST(BalanceLayers, TakesLayersThatCostNothing) {
  EXPECT_THAT(balanced({0, 0, 0}, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(balanced({0, 0, 5, 0}, 4), ElementsAre(0, 1, 2, 3, 4));
}

TEST(BalanceLayers, NeedsALayerForEachStage) {
  EXPECT_THROW(balanced({1, 2}, 3), InternalError);
  EXPECT_THROW(balanced({1, 2}, 0), InternalError);
}

}  // namespace
}  // namespace tessera::plan::balance_test
