// Messages as fluid flows: times by hand. Against SimGrid: simgrid_flows_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::network {
namespace {

using testing::Arrived;
using testing::carry;
using testing::chain;
using ::testing::ElementsAre;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;
using testing::Use;

// Of messages over a chain of two links, 10 GB/s and 4 GB/s and 2 ns each.
std::vector<std::int64_t> times(const std::vector<Send>& sends, const std::string& keys = "") {
  const Traffic traffic =
      carry(network_of(chain({"10 GB/s", "4 GB/s"}), "model: flow" + keys), sends);
  std::vector<std::int64_t> times(sends.size());
  for (const Arrived& arrived : traffic.arrivals) {
    times[arrived.tag] = arrived.at_ps;
  }
  return times;
}

TEST(FlowNetwork, LatencyFirstThenTheNarrowestLink) {
  EXPECT_THAT(times({{0, 0, 2, 4000, 0}}), ElementsAre(4000 + 1'000'000));
  EXPECT_THAT(times({{0, 0, 1, 4000, 0}}), ElementsAre(2000 + 400'000));
  EXPECT_THAT(times({{7, 0, 2, 0, 0}}), ElementsAre(4007));
}

// The long way leaves 6 GB/s of the first link to the other.
TEST(FlowNetwork, WhatOneLinkHoldsBackGoesToOthers) {
  EXPECT_THAT(times({{0, 0, 2, 4000, 0}, {2000, 0, 1, 3000, 1}}),
              ElementsAre(1'004'000, 4000 + 500'000));
}

// Waiting messages load nothing: the second has all of the link until the first has paid.
TEST(FlowNetwork, MessagesThatPayLatencyLoadNothing) {
  EXPECT_THAT(times({{398'000, 0, 2, 4000, 0}, {0, 0, 1, 4000, 1}}),
              ElementsAre(402'000 + 1'000'000, 402'000));
}

TEST(FlowNetwork, LimitsHoldForEachFlow) {
  EXPECT_THAT(times({{0, 0, 2, 4000, 0}, {0, 0, 2, 4000, 1}}, ", flow_limit: 2 GB/s"),
              ElementsAre(4000 + 2'000'000, 4000 + 2'000'000));
  EXPECT_THAT(times({{0, 0, 2, 4000, 0}}, ", flow_limit: 1 GB/s"), ElementsAre(4000 + 4'000'000));
}

// Of 4 GB/s the first takes 1.024, a rate that keeps all its bits; the second has the rest.
TEST(FlowNetwork, MessagesHaveLimitsOfTheirOwn) {
  constexpr std::uint64_t limit = 1'024'000'000;
  EXPECT_THAT(times({{0, 0, 2, 4096, 0, limit}, {0, 0, 2, 5952, 1}}),
              ElementsAre(4000 + 4'000'000, 4000 + 2'000'000));
  EXPECT_THAT(times({{0, 0, 2, 4000, 0, limit}}, ", flow_limit: 500 MB/s"),
              ElementsAre(4000 + 8'000'000));
}

TEST(RateLimits, KeepEighteenBits) {
  const auto kept = [](std::uint64_t rate) {
    return RateLimit(Bandwidth::bytes_per_second(rate)).rate()->bytes_per_second();
  };
  EXPECT_FALSE(RateLimit().rate().has_value());
  EXPECT_EQ(kept(0), 1U);
  EXPECT_EQ(kept(1), 1U);
  EXPECT_EQ(kept(262'143), 262'143U);  // 2^18 - 1
  EXPECT_EQ(kept(262'145), 262'144U);  // 19 bits: the last one goes
  EXPECT_EQ(kept((1ULL << 62) + 1), 1ULL << 62);
  constexpr std::uint64_t odd = 23'456'789'123;
  EXPECT_LE(kept(odd), odd);
  EXPECT_GT(static_cast<double>(kept(odd)), static_cast<double>(odd) * (1 - 8e-6));
}

// 8 B in a round trip of 8 ns; of 4 ns over one link only.
TEST(FlowNetwork, WindowsLimitByTheRoundTrip) {
  EXPECT_THAT(times({{0, 0, 2, 4000, 0}}, ", window: 8 B"), ElementsAre(4000 + 4'000'000));
  EXPECT_THAT(times({{0, 0, 1, 4000, 0}}, ", window: 8 B"), ElementsAre(2000 + 2'000'000));
  EXPECT_THAT(times({{0, 0, 1, 4000, 0}}, ", window: 8 B, flow_limit: 1 GB/s"),
              ElementsAre(2000 + 4'000'000));
}

// Latencies 4 and 2 ns: one third and two thirds of the first link.
TEST(FlowNetwork, WeightsByLatency) {
  EXPECT_THAT(times({{0, 0, 2, 2000, 0}, {2000, 0, 1, 4000, 1}}, ", weights: latency"),
              ElementsAre(4000 + 600'000, 4000 + 600'000));
}

TEST(FlowNetwork, KeepsAccountOfLinks) {
  const Traffic traffic =
      carry(network_of(mesh(1, 3), "model: flow"), {{0, 0, 2, 10'000, 0}, {1000, 1, 2, 10'000, 1}});
  // 10 kB each, the second link shared to the end of the second message, 1 ns after its first part.
  EXPECT_EQ(traffic.messages, 2U);
  EXPECT_EQ(traffic.hops, 3U);
  ASSERT_EQ(traffic.totals.size(), 2U);
  EXPECT_EQ(traffic.totals[0].bytes, 10'000U);
  EXPECT_EQ(traffic.totals[1].bytes, 20'000U);
  EXPECT_EQ(traffic.totals[1].busy_ps, 2'000'000);
}

}  // namespace
}  // namespace tessera::network
