#include "tessera/explore/candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace tessera::explore {
namespace {

using Degrees = std::tuple<unsigned, unsigned, unsigned>;  // pipeline, data, tensor

CandidateLimits limits(std::uint64_t devices) {
  CandidateLimits limits;
  limits.devices = devices;
  limits.layers = 10;
  limits.batch = 6;
  limits.head_counts = {8};
  limits.schedules = {"1f1b"};
  limits.recomputations = {"none", "full"};
  return limits;
}

std::set<Degrees> degrees_of(const std::vector<Candidate>& list) {
  std::set<Degrees> degrees;
  for (const Candidate& candidate : list) {
    degrees.insert({candidate.degrees.pipeline, candidate.degrees.data, candidate.degrees.tensor});
  }
  return degrees;
}

TEST(Candidates, RespectEveryLimit) {
  CandidateLimits wide = limits(48);
  wide.full = true;
  const std::vector<Candidate> list = candidates(wide);
  ASSERT_FALSE(list.empty());
  for (const Candidate& candidate : list) {
    EXPECT_LE(candidate.degrees.tiles(), 48U);
    EXPECT_GE(candidate.degrees.tiles(), 24U);
    EXPECT_LE(candidate.degrees.pipeline, 10U);
    EXPECT_EQ(8 % candidate.degrees.tensor, 0U);
    EXPECT_EQ(6 % (candidate.degrees.data * candidate.micro_batch), 0U);
  }
}

TEST(Candidates, FullOnesAreAllThereAre) {
  CandidateLimits wide = limits(48);
  wide.full = true;
  std::set<Degrees> expected;
  for (unsigned pipeline = 1; pipeline <= 10; ++pipeline) {
    for (const unsigned data : {1, 2, 3, 6}) {
      for (const unsigned tensor : {1, 2, 4, 8}) {
        const unsigned tiles = pipeline * data * tensor;
        if (tiles <= 48 && tiles >= 24) {
          expected.insert({pipeline, data, tensor});
        }
      }
    }
  }
  EXPECT_EQ(degrees_of(candidates(wide)), expected);
}

TEST(Candidates, UsualOnesFillTheDevices) {
  // With 8 · 1 tiles a stage, 48 devices hold 6 stages of at most 2 of the 10 layers; 5 stages have
  // no more.
  const std::set<Degrees> found = degrees_of(candidates(limits(48)));
  EXPECT_TRUE(found.contains({6, 1, 8}));
  EXPECT_TRUE(found.contains({5, 1, 8}));
  EXPECT_FALSE(found.contains({4, 1, 8}));
  EXPECT_TRUE(found.contains({1, 6, 8}));
}

TEST(Candidates, TakePowersOfTwoForMicroBatches) {
  CandidateLimits narrow = limits(1);
  narrow.batch = 24;
  std::set<unsigned> sizes;
  for (const Candidate& candidate : candidates(narrow)) {
    sizes.insert(candidate.micro_batch);
  }
  EXPECT_EQ(sizes, (std::set<unsigned>{1, 2, 4, 8}));
  narrow.full = true;
  sizes.clear();
  for (const Candidate& candidate : candidates(narrow)) {
    sizes.insert(candidate.micro_batch);
  }
  EXPECT_EQ(sizes, (std::set<unsigned>{1, 2, 3, 4, 6, 8, 12, 24}));
}

TEST(Candidates, KeepWhatUsesFewTilesWhereNothingUsesMore) {
  CandidateLimits huge = limits(100'000);
  const std::vector<Candidate> list = candidates(huge);
  ASSERT_FALSE(list.empty());
  for (const Candidate& candidate : list) {
    EXPECT_GE(candidate.degrees.tiles(), 240U);  // of 10 · 6 · 8 = 480
  }
}

TEST(Candidates, SetWhatTheyAre) {
  const Candidate candidate{{4, 2, 8}, 3, "gpipe", "full"};
  EXPECT_THAT(
      candidate.settings("line"),
      ::testing::ElementsAre("strategy.pipeline=4", "strategy.tensor=8", "strategy.data=2",
                             "strategy.micro_batch=3", "strategy.schedule=gpipe",
                             "strategy.recompute=full", "strategy.placement={layout: line}"));
}

}  // namespace
}  // namespace tessera::explore
