#include "tessera/explore/candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace tessera::explore::candidates_test {
namespace {

// Of all degrees.
std::uint64_t count_candidates(const CandidateLimits& limits) {
  std::uint64_t count = 0;
  for (const DegreesOfCandidates& degrees : degrees_of_candidates(limits)) {
    visit_candidates(limits, degrees, [&](const Candidate&) { ++count; });
  }
  return count;
}

using Degrees = std::tuple<unsigned, unsigned, unsigned>;  // pipeline, data, tensor

CandidateLimits limits(std::uint64_t devices) {
  CandidateLimits limits;
  limits.devices = devices;
  limits.layers = 10;
  limits.batch = 6;
  limits.head_counts = {8};
  limits.layouts = {"linear"};
  return limits;
}

std::vector<Candidate> candidates(const CandidateLimits& limits) {
  std::vector<Candidate> list;
  for (const DegreesOfCandidates& degrees : degrees_of_candidates(limits)) {
    visit_candidates(limits, degrees, [&](const Candidate& each) { list.push_back(each); });
  }
  return list;
}

std::set<Degrees> degrees_of(const std::vector<Candidate>& list) {
  std::set<Degrees> degrees;
  for (const Candidate& candidate : list) {
    degrees.insert({candidate.degrees.pipeline, candidate.degrees.data, candidate.degrees.tensor});
  }
  return degrees;
}

template <class Value>
std::set<Value> values_of(const std::vector<Candidate>& list, Value Candidate::*key) {
  std::set<Value> values;
  for (const Candidate& candidate : list) {
    values.insert(candidate.*key);
  }
  return values;
}

// A boundary with adapters sends whole tensors of groups that have as many tiles at least.
TEST(Candidates, KeepTensorsWholeForAdapters) {
  CandidateLimits given = limits(64);
  given.sequence = 64;
  EXPECT_EQ(values_of(candidates(given), &Candidate::sequence_parallel).count(true), 1U);
  given.adapters = 2;
  const std::vector<Candidate> list = candidates(given);
  EXPECT_EQ(values_of(list, &Candidate::sequence_parallel).count(true), 0U);
  ASSERT_FALSE(list.empty());
  for (const Candidate& candidate : list) {
    EXPECT_GE(candidate.degrees.tensor, 2U);
  }
}

TEST(Candidates, RecomputeAsIsAskedFor) {
  CandidateLimits given = limits(64);
  using plan::Recompute;
  EXPECT_EQ(values_of(candidates(given), &Candidate::recompute).count(Recompute::alternate), 0U);
  given.given["recompute"] = {"alternate"};
  EXPECT_EQ(values_of(candidates(given), &Candidate::recompute), std::set{Recompute::alternate});
}

TEST(Candidates, RespectEveryLimit) {
  CandidateLimits wide = limits(48);
  wide.full = true;
  wide.sequence = 64;
  wide.experts = 4;
  const std::vector<Candidate> list = candidates(wide);
  ASSERT_FALSE(list.empty());
  for (const Candidate& candidate : list) {
    EXPECT_LE(candidate.tiles(), 48U);
    EXPECT_GE(candidate.tiles(), 24U);
    EXPECT_LE(candidate.degrees.pipeline * candidate.chunks, 10U);
    EXPECT_EQ(8 % candidate.degrees.tensor, 0U);
    EXPECT_EQ(6 % (candidate.degrees.data * candidate.micro_batch), 0U);
    EXPECT_EQ(64 % candidate.context, 0U);
    EXPECT_EQ(4 % candidate.expert, 0U);
    EXPECT_EQ(candidate.degrees.data * candidate.context % candidate.expert, 0U);
  }
  EXPECT_EQ(list.size(), count_candidates(wide));
}

TEST(Candidates, TakeTurnsWhereTheScheduleHasPairs) {
  const plan::Strategy base;
  Candidate candidate;
  candidate.degrees = {2, 1, 1};
  candidate.chunks = 2;
  candidate.overlap_passes = true;
  for (const std::string schedule : {"interleaved", "zb-v", "dualpipe-v"}) {
    candidate.schedule = schedule;
    EXPECT_EQ(candidate.strategy(base, 8).overlap_passes, schedule == "dualpipe-v") << schedule;
  }
  candidate.overlap_passes = false;
  EXPECT_FALSE(candidate.strategy(base, 8).overlap_passes);
}

// They never did, unless the experiment's own strategy had them do so.
TEST(Candidates, TakeTurnsOrNotWhereThereAreExperts) {
  CandidateLimits limits;
  limits.devices = 2;
  limits.layers = 4;
  limits.batch = 8;
  limits.layouts = {"linear"};
  for (const std::uint64_t experts : {0, 4}) {
    limits.experts = experts;
    std::map<std::string, std::set<bool>> turns;  // of schedules
    for (const DegreesOfCandidates& degrees : degrees_of_candidates(limits)) {
      visit_candidates(limits, degrees, [&](const Candidate& candidate) {
        turns[candidate.schedule].insert(candidate.overlap_passes);
      });
    }
    EXPECT_EQ(turns["dualpipe-v"].size(), experts > 0 ? 2U : 1U);
    EXPECT_EQ(turns["zb-v"], std::set<bool>{false});
  }
}

TEST(Candidates, AreAllDifferent) {
  CandidateLimits wide = limits(16);
  wide.sequence = 64;
  std::set<std::string> keys;
  const std::vector<Candidate> list = candidates(wide);
  for (const Candidate& candidate : list) {
    keys.insert(candidate.key());
  }
  EXPECT_EQ(keys.size(), list.size());
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
  EXPECT_EQ(values_of(candidates(narrow), &Candidate::micro_batch),
            (std::set<unsigned>{1, 2, 4, 8}));
  narrow.full = true;
  EXPECT_EQ(values_of(candidates(narrow), &Candidate::micro_batch),
            (std::set<unsigned>{1, 2, 3, 4, 6, 8, 12, 24}));
}

TEST(Candidates, VaryWhatMakesADifferenceAlone) {
  const std::vector<Candidate> of_one = candidates(limits(1));
  EXPECT_EQ(values_of(of_one, &Candidate::zero), std::set<unsigned>{0});
  EXPECT_EQ(values_of(of_one, &Candidate::overlap_gradients), std::set<bool>{false});
  EXPECT_EQ(values_of(of_one, &Candidate::overlap_tensor), std::set<bool>{false});
  EXPECT_EQ(values_of(of_one, &Candidate::async_tensor), std::set<bool>{false});
  EXPECT_EQ(values_of(of_one, &Candidate::schedule), std::set<std::string>{"1f1b"});
  CandidateLimits wide = limits(48);
  wide.sequence = 64;
  const std::vector<Candidate> list = candidates(wide);
  EXPECT_EQ(values_of(list, &Candidate::zero), (std::set<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(values_of(list, &Candidate::sequence_parallel), (std::set<bool>{false, true}));
  EXPECT_EQ(values_of(list, &Candidate::overlap_tensor), (std::set<bool>{false, true}));
  EXPECT_EQ(values_of(list, &Candidate::schedule),
            (std::set<std::string>{"1f1b", "dualpipe-v", "gpipe", "interleaved", "zb-h1", "zb-v"}));
  wide.training = false;
  EXPECT_EQ(values_of(candidates(wide), &Candidate::schedule), std::set<std::string>{"streaming"});
}

// With tokens cut along the tensor group, products go in pieces, or sums beside those of weights.
TEST(Candidates, HaveProductsInPiecesWhereTokensAreCut) {
  CandidateLimits wide = limits(8);
  wide.sequence = 64;
  std::set<std::tuple<bool, bool>> overlaps;
  for (const Candidate& candidate : candidates(wide)) {
    if (candidate.sequence_parallel) {
      overlaps.emplace(candidate.overlap_tensor, candidate.async_tensor);
    } else {
      EXPECT_FALSE(candidate.async_tensor) << candidate.title();
    }
  }
  EXPECT_EQ(overlaps,
            (std::set<std::tuple<bool, bool>>{{false, false}, {false, true}, {true, false}}));
  wide.given["overlap_tensor"] = {"true"};
  EXPECT_EQ(values_of(candidates(wide), &Candidate::async_tensor), (std::set<bool>{false, true}));
  wide.kept.insert("async_tensor");
  EXPECT_EQ(values_of(candidates(wide), &Candidate::async_tensor), std::set<bool>{false});
}

TEST(Candidates, HaveSchedulesInAVForTwoChunksOfSeveralStages) {
  CandidateLimits wide = limits(48);
  wide.batch = 48;
  wide.given = {{"schedule", {"1f1b", "zb-v"}}};
  const std::vector<Candidate> list = candidates(wide);
  EXPECT_EQ(values_of(list, &Candidate::schedule), (std::set<std::string>{"1f1b", "zb-v"}));
  for (const Candidate& candidate : list) {
    if (candidate.schedule == "zb-v") {
      EXPECT_EQ(candidate.chunks, 2U);
      EXPECT_GT(candidate.degrees.pipeline, 1U);
      EXPECT_TRUE(candidate.is_v_shaped());
      EXPECT_TRUE(candidate.strategy({}, 48).v_shaped);
    }
  }
}

TEST(Candidates, LeaveKeptKeysAsTheyAre) {
  CandidateLimits narrow = limits(48);
  narrow.kept = {"tensor", "zero", "schedule", "pipeline"};
  narrow.own.degrees = {3, 1, 4};
  narrow.own.zero = 2;
  narrow.own.schedule = "gpipe";
  const std::vector<Candidate> list = candidates(narrow);
  ASSERT_FALSE(list.empty());
  for (const Candidate& candidate : list) {
    EXPECT_EQ(candidate.degrees.tensor, 4U);
    EXPECT_EQ(candidate.degrees.pipeline, 3U);
    EXPECT_EQ(candidate.zero, 2U);
    EXPECT_EQ(candidate.schedule, "gpipe");
  }
}

TEST(Candidates, HaveTheValuesThatAreGivenAlone) {
  CandidateLimits narrow = limits(48);
  narrow.given = {{"zero", {"0", "3"}},
                  {"pipeline", {"2", "3"}},
                  {"micro_batch", {"1", "3"}},
                  {"overlap_gradients", {"true"}},
                  {"recompute", {"none", "full"}},
                  {"schedule", {"1f1b", "gpipe"}}};
  const std::vector<Candidate> list = candidates(narrow);
  EXPECT_EQ(values_of(list, &Candidate::zero), (std::set<unsigned>{0, 3}));
  EXPECT_EQ(values_of(list, &Candidate::micro_batch), (std::set<unsigned>{1, 3}));
  EXPECT_EQ(values_of(list, &Candidate::overlap_gradients), std::set<bool>{true});
  EXPECT_EQ(values_of(list, &Candidate::schedule), (std::set<std::string>{"1f1b", "gpipe"}));
  for (const Candidate& candidate : list) {
    EXPECT_TRUE(candidate.degrees.pipeline == 2 || candidate.degrees.pipeline == 3);
    EXPECT_NE(candidate.recompute, plan::Recompute::selective);
  }
  // Of values that no candidate would have there are none.
  narrow.given = {{"tensor", {"7"}}};
  EXPECT_TRUE(candidates(narrow).empty());
}

// ZeRO over the replicas of a server of eight tiles, where that is not all of them.
TEST(Candidates, ShareOutInServers) {
  CandidateLimits servers = limits(32);
  servers.near = 8;
  for (const Candidate& candidate : candidates(servers)) {
    const std::uint32_t replicas = candidate.degrees.data * candidate.context;
    if (candidate.shard > 0) {
      EXPECT_GT(candidate.zero, 0U);
      EXPECT_EQ(candidate.shard * candidate.degrees.tensor, 8U);
      EXPECT_EQ(replicas % candidate.shard, 0U);
      EXPECT_LT(candidate.shard, replicas);
    }
  }
  EXPECT_GT(values_of(candidates(servers), &Candidate::shard).size(), 1U);
  EXPECT_EQ(values_of(candidates(limits(32)), &Candidate::shard), std::set<unsigned>{0});
}

TEST(Candidates, SetWhatTheyAre) {
  Candidate candidate;
  candidate.degrees = {4, 2, 8};
  candidate.micro_batch = 3;
  candidate.schedule = "gpipe";
  candidate.recompute = plan::Recompute::full;
  candidate.zero = 1;
  candidate.overlap_tensor = true;
  candidate.layout = "line";
  EXPECT_THAT(
      candidate.settings(),
      ::testing::ElementsAre(
          "strategy.pipeline=4", "strategy.tensor=8", "strategy.data=2", "strategy.context=1",
          "strategy.expert=1", "strategy.sequence_parallel=false", "strategy.micro_batch=3",
          "strategy.chunks=1", "strategy.schedule=gpipe", "strategy.recompute=full",
          "strategy.zero=1", "strategy.shard=0", "strategy.overlap_gradients=false",
          "strategy.overlap_tensor=true", "strategy.async_tensor=false",
          "strategy.overlap_passes=false", "strategy.placement={layout: line}"));
  EXPECT_EQ(candidate.key(), "4/8/2/1/1/false/3/1/gpipe/full/1/0/false/true/false/false/line");
  EXPECT_EQ(candidate.title(),
            "pipeline 4, tensor 8, data 2, micro-batch 3, gpipe, recompute full, ZeRO 1, tensor "
            "sums overlap");
}

}  // namespace
}  // namespace tessera::explore::candidates_test
