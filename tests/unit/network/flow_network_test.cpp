// Messages as fluid flows: times by hand. Against SimGrid: simgrid_flows_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::flow_network_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::chain;
using testing::Described;
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

// Each of these has its link to itself: what was to be sent, the send, the begin and the end at the
// hub and the arrival. Only for the first one the hub has to look when it is to come back.
TEST(FlowNetwork, MessagesAloneOnTheirLinksAreNotSharedOut) {
  constexpr std::uint32_t messages = 8;
  std::vector<Send> sends;
  for (std::uint32_t i = 0; i < messages; ++i) {
    sends.push_back({i * 1000, i, i + 1, 4000, static_cast<std::uint16_t>(i)});
  }
  const Traffic traffic = carry(network_of(mesh(1, messages + 1), "model: flow"), sends);
  EXPECT_EQ(traffic.events, 5 * messages + 1);
  for (const Arrived& arrived : traffic.arrivals) {
    EXPECT_EQ(arrived.at_ps, arrived.tag * 1000 + 2000 + 400'000);
  }
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

// Messages along the rows of a mesh, and down one column.
std::vector<Send> in_rows(std::uint32_t rows, std::uint32_t columns) {
  RandomStream random(2026, EntityId(0), 0);
  const auto below = [&random](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random.next_below(bound));
  };
  std::vector<Send> sends;
  for (std::uint16_t tag = 0; tag < 300; ++tag) {
    const std::uint32_t row = below(rows);
    std::uint32_t from = row * columns + below(columns);
    std::uint32_t to = row * columns + below(columns);
    if (below(5) == 0) {
      from = row * columns;
      to = below(rows) * columns;
    }
    if (from != to) {
      sends.push_back({below(3'000'000), from, to, below(4) == 0 ? 0 : below(30'000), tag});
      sends.back().flags = below(2) == 0 ? connection_flag : std::uint8_t{0};
    }
  }
  return sends;
}

// A row with what goes down the column is one part; rows are solved by nodes of their own.
TEST(FlowNetwork, PartsThatDoNotTouchAreSolvedApart) {
  constexpr std::uint32_t rows = 4;
  constexpr std::uint32_t columns = 5;
  const std::vector<Send> sends = in_rows(rows, columns);
  for (const std::string keys : {"", ", weights: latency", ", pairs: in-turn, window: 20 B"}) {
    const Described described = network_of(mesh(rows, columns), "model: flow" + keys);
    Traffic whole = carry(described, sends);
    std::sort(whole.arrivals.begin(), whole.arrivals.end());
    for (const auto& [ranks, partitioner] :
         {std::pair{1, "stripes"}, {2, "stripes"}, {3, "stripes"}, {2, "columns"}}) {
      Traffic apart = carry(described, sends, {ranks, partitioner, 0, true});
      std::sort(apart.arrivals.begin(), apart.arrivals.end());
      EXPECT_EQ(apart.arrivals, whole.arrivals) << keys << ", " << ranks << " ranks";
      EXPECT_EQ(apart.totals, whole.totals) << keys << ", " << ranks << " ranks";
      EXPECT_EQ(apart.messages, whole.messages);
      EXPECT_EQ(apart.hops, whole.hops);
      EXPECT_EQ(apart.end_ps, whole.end_ps);
    }
  }
}

// What outlooks count on: where a message first leaves a region, and that none comes sooner.
TEST(FlowNetwork, SaysWhereAndWhenMessagesLeaveARegion) {
  const Described described =
      network_of(mesh(1, 6), "model: flow, message_overhead: 300 ns, flow_limit: 7 GB/s");
  const std::vector<std::uint32_t> owner{0, 0, 0, 1, 1, 1};
  const std::vector<Send> sends{
      {0, 1, 2, 1}, {0, 2, 4, 1}, {0, 5, 3, 1}, {0, 4, 1, 1}, {0, 3, 2, 1}};
  const pdes::RegionView regions{owner, 0};
  const std::vector<EntityId> members{EntityId(0), EntityId(1), EntityId(2)};
  const auto network = described.network->build({described.machine, members, 0, &regions});
  network->learn_routes([&sends](const auto& visit) {
    for (const Send& send : sends) {
      visit(EntityId(send.from), EntityId(send.to));
    }
  });
  EXPECT_TRUE(described.network->promises());
  const auto exit = [&network](std::uint32_t from, std::uint32_t to) {
    return network->exit_of(EntityId(from), EntityId(to));
  };
  EXPECT_FALSE(exit(1, 2).leaves());
  EXPECT_EQ(exit(2, 4), (pdes::Exit{1, SimTime::from_ps(300'000 + 4000)}));
  EXPECT_FALSE(exit(0, 5).leaves()) << "a pair that sends nothing";
  EXPECT_FALSE(exit(4, 1).leaves()) << "from elsewhere, by a hub elsewhere";
  for (const Send& send : sends) {
    for (const std::uint64_t bytes : std::vector<std::uint64_t>{0, 1, 4096, 1'000'003}) {
      const Traffic traffic = carry(described, {Send{1000, send.from, send.to, bytes, 5}});
      ASSERT_EQ(traffic.arrivals.size(), 1U);
      const std::int64_t time = traffic.arrivals[0].at_ps - 1000;
      const std::int64_t least =
          network->least_time(EntityId(send.from), EntityId(send.to), Bytes(bytes)).ps();
      EXPECT_LE(least, time);
      EXPECT_GE(least, time - 4);
    }
  }
  EXPECT_EQ(network->outlook(1, {}), pdes::Outlook()) << "nothing is under way";
  const auto alone = described.network->build({described.machine, members, 0, nullptr});
  EXPECT_FALSE(alone->outlook(1, {}));
  const Described lumped = network_of(mesh(1, 6), "model: flow, uncontended_steps: lumped");
  EXPECT_FALSE(lumped.network->promises());
}

}  // namespace
}  // namespace tessera::network::flow_network_test
