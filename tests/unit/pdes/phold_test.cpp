#include "phold.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::pdes::phold_test {
namespace {

using testing::blocks;
using testing::Outcome;
using testing::PholdSettings;
using testing::Reach;
using testing::run_phold;
using testing::scattered;

class Phold : public ::testing::TestWithParam<std::tuple<std::string, Reach>> {
 protected:
  Phold() {
    std::tie(settings.policy, settings.reach) = GetParam();
    expected = run_phold(0, settings, blocks(settings.entities));
  }
  PholdSettings settings;
  Outcome expected;
};

TEST_P(Phold, IsTheSameOnAnyNumberOfRanks) {
  EXPECT_GT(expected.events, 20'000U);
  EXPECT_GE(expected.last, settings.end);
  for (const int ranks : {1, 2, 3, 4, 8}) {
    const Outcome outcome = run_phold(ranks, settings, blocks(settings.entities));
    EXPECT_TRUE(outcome == expected) << ranks << " ranks";
    EXPECT_EQ(outcome.remote > 0, ranks > 1);
  }
}

TEST_P(Phold, IsTheSameForAnyPartition) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    EXPECT_TRUE(run_phold(3, settings, scattered(seed)) == expected) << seed;
  }
  const auto all_but_one = [](std::uint32_t entity, std::uint32_t) {
    return entity == 7 ? 1U : 0U;
  };
  EXPECT_TRUE(run_phold(2, settings, all_but_one) == expected);
}

TEST_P(Phold, IsTheSameUnderEveryPolicy) {
  PholdSettings window = settings;
  window.policy = "window";
  EXPECT_TRUE(run_phold(4, window, blocks(settings.entities)) == expected);
}

std::string name_of(Reach reach) {
  return reach == Reach::anywhere ? "anywhere" : reach == Reach::ring ? "ring" : "line";
}

INSTANTIATE_TEST_SUITE_P(All, Phold,
                         ::testing::Combine(::testing::Values("window", "null-message", "promise"),
                                            ::testing::Values(Reach::anywhere, Reach::ring,
                                                              Reach::line)),
                         [](const auto& instance) {
                           std::string name = std::get<0>(instance.param);
                           std::ranges::replace(name, '-', '_');
                           return name + "_" + name_of(std::get<1>(instance.param));
                         });

}  // namespace
}  // namespace tessera::pdes::phold_test
