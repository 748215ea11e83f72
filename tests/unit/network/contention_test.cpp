// Messages that meet: links carry one packet at a time in order of arrival.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::contention_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::Described;
using ::testing::ElementsAre;
using testing::mesh;
using testing::network_of;
using testing::RunSettings;
using testing::Send;
using testing::Traffic;

// Ten nodes around a switch, which is node 10; 1 GB/s: a byte takes 1 ns.
Described star() {
  return network_of(
      "{kind: graph, nodes: [{name: gpu, count: 10}, {name: hub, kind: switch}], links: [{from: "
      "gpu, to: hub, bandwidth: 1 GB/s, latency: 3 ns}]}");
}

std::int64_t last_of(const Traffic& traffic) {
  std::int64_t last = 0;
  for (const Arrived& arrival : traffic.arrivals) {
    last = std::max(last, arrival.at_ps);
  }
  return last;
}

std::vector<std::uint16_t> tags_of(const Traffic& traffic) {
  std::vector<std::uint16_t> tags;
  for (const Arrived& arrival : traffic.arrivals) {
    tags.push_back(arrival.tag);
  }
  return tags;
}

TEST(Contention, SendersIntoOneLinkShareIt) {
  for (std::uint32_t senders = 1; senders <= 9; ++senders) {
    for (const std::uint64_t bytes : {1ULL, 4096ULL, 10'000ULL, 300'001ULL}) {
      std::vector<Send> sends;
      for (std::uint32_t i = 1; i <= senders; ++i) {
        sends.push_back({0, i, 0, bytes, 0});
      }
      const Traffic traffic = carry(star(), sends);
      ASSERT_EQ(traffic.arrivals.size(), senders);
      const auto all = static_cast<std::int64_t>(senders * bytes) * 1000;
      EXPECT_EQ(last_of(traffic), 2 * 3000 + all) << senders << " senders of " << bytes;
    }
  }
}

// Packets that arrive at one instant go in the order of their senders' numbers, whole messages of
// one packet therefore too.
TEST(Contention, OneAfterTheOtherInOrderOfArrival) {
  const Traffic traffic =
      carry(star(), {{0, 3, 0, 1000, 3}, {0, 1, 0, 1000, 1}, {500, 2, 0, 1000, 2}});
  ASSERT_THAT(tags_of(traffic), ElementsAre(1, 3, 2));
  EXPECT_EQ(traffic.arrivals[0].at_ps, 6000 + 1'000'000);
  EXPECT_EQ(traffic.arrivals[1].at_ps, 6000 + 2'000'000);
  EXPECT_EQ(traffic.arrivals[2].at_ps, 6000 + 3'000'000);
}

// A short message need not wait for the end of a long one.
TEST(Contention, PacketsOfDifferentSendersTakeTurns) {
  const Traffic traffic = carry(star(), {{0, 1, 0, 40'960, 1}, {1, 2, 0, 4096, 2}});
  ASSERT_THAT(tags_of(traffic), ElementsAre(2, 1));
  EXPECT_EQ(traffic.arrivals[0].at_ps, 6000 + 2 * 4'096'000);
  EXPECT_EQ(traffic.arrivals[1].at_ps, 6000 + 11 * 4'096'000);
}

TEST(Contention, EqualStreamsEndTogether) {
  std::vector<Send> sends;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    sends.push_back({0, i, 0, 64 * 4096, static_cast<std::uint16_t>(i)});
  }
  const Traffic traffic = carry(star(), sends);
  ASSERT_THAT(tags_of(traffic), ElementsAre(1, 2, 3, 4));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(traffic.arrivals[3].at_ps - traffic.arrivals[i].at_ps,
              static_cast<std::int64_t>(3 - i) * 4'096'000);
  }
}

// Two messages of a pair beside one of another; `star` with links of flows.
TEST(Contention, FlowsOfAPairTogetherOrInTurn) {
  const auto ends = [](const std::string& keys, std::uint8_t flags) {
    std::vector<std::pair<std::uint16_t, std::int64_t>> result;
    for (const Arrived& arrival :
         carry(network_of("{kind: graph, nodes: [{name: gpu, count: 10}, "
                          "{name: hub, kind: switch}], links: [{from: gpu, "
                          "to: hub, bandwidth: 1 GB/s, latency: 3 ns}]}",
                          "model: flow" + keys),
               {{0, 1, 0, 100, 1, 0, flags}, {0, 1, 0, 100, 2, 0, flags}, {0, 2, 0, 300, 3}})
             .arrivals) {
      result.emplace_back(arrival.tag, arrival.at_ps);
    }
    return result;
  };
  using End = std::pair<std::uint16_t, std::int64_t>;
  // A third of 1 B/ns each until 300 ns, then 200 B alone.
  const auto together = ElementsAre(End(1, 306'000), End(2, 306'000), End(3, 506'000));
  // A half each until 200 and 400 ns, then 100 B alone.
  const auto in_turn = ElementsAre(End(1, 206'000), End(2, 406'000), End(3, 506'000));
  EXPECT_THAT(ends(", pairs: together", 0), together);
  EXPECT_THAT(ends(", pairs: in-turn", 0), in_turn);
  // Those of collectives go through connections, by default.
  EXPECT_THAT(ends("", 0), together);
  EXPECT_THAT(ends("", connection_flag), in_turn);
  EXPECT_THAT(ends(", pairs: together", connection_flag), together);
}

TEST(Contention, MessagesOfOnePairArriveInTheOrderSent) {
  std::vector<Send> sends;
  RandomStream random(3, EntityId(0), 0);
  for (std::uint16_t i = 0; i < 300; ++i) {
    sends.push_back({i * 100, 0, 11, random.next_below(3) == 0 ? 0 : random.next_below(20'000), i});
  }
  const Traffic traffic = carry(network_of(mesh(3, 4)), sends);
  ASSERT_EQ(traffic.arrivals.size(), 300U);
  for (std::uint16_t i = 0; i < 300; ++i) {
    EXPECT_EQ(traffic.arrivals[i].tag, i);
  }
}

// Fractions of a picosecond of a busy wire are carried from message to message.
TEST(Contention, AStreamOfMessagesTakesNoLongerThanOne) {
  const Described network = network_of(mesh(1, 2, "3 GB/s"));
  const Traffic traffic = carry(network, std::vector<Send>(3000, Send{0, 0, 1, 100, 0}));
  EXPECT_EQ(last_of(traffic), 2000 + 100'000'000);  // 300 000 B at 3 GB/s
}

TEST(Contention, TheTwoWaysOfALinkAreIndependent) {
  const Described network = network_of(mesh(1, 4));
  const Send there{0, 0, 3, 100'000, 1};
  const Send back{0, 3, 0, 70'000, 2};
  const Traffic both = carry(network, {there, back});
  ASSERT_EQ(both.arrivals.size(), 2U);
  EXPECT_EQ(both.arrivals[0].at_ps, carry(network, {back}).arrivals[0].at_ps);
  EXPECT_EQ(both.arrivals[1].at_ps, carry(network, {there}).arrivals[0].at_ps);
}

TEST(Contention, ARingOfTwoHasTwoLinksEachWay) {
  const Described network = network_of(mesh(1, 2, "10 GB/s", "2 ns", "torus"));
  const Traffic traffic = carry(network, {{0, 0, 1, 10'000, 0}, {0, 1, 0, 10'000, 0}});
  ASSERT_EQ(traffic.arrivals.size(), 2U);
  EXPECT_EQ(traffic.arrivals[0].at_ps, 2000 + 1'000'000);
  EXPECT_EQ(traffic.arrivals[1].at_ps, 2000 + 1'000'000);
}

std::vector<Send> random_traffic(std::uint32_t nodes) {
  RandomStream random(5, EntityId(0), 0);
  std::vector<Send> sends;
  for (std::uint16_t i = 0; i < 400; ++i) {
    sends.push_back({static_cast<std::int64_t>(random.next_below(3000)) * 1000,
                     static_cast<std::uint32_t>(random.next_below(nodes)),
                     static_cast<std::uint32_t>(random.next_below(nodes)),
                     random.next_below(30'000), i});
  }
  return sends;
}

void expect_same_on_any_ranks(const Described& network, const std::string& partitioner) {
  const std::vector<Send> sends = random_traffic(network.machine.topology->nodes());
  const Traffic expected = carry(network, sends, {1, partitioner, 200'000});
  EXPECT_EQ(expected.arrivals.size(), sends.size());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const Traffic traffic = carry(network, sends, {ranks, partitioner, 200'000});
    EXPECT_EQ(traffic.arrivals, expected.arrivals) << partitioner << ", " << ranks << " ranks";
    EXPECT_EQ(traffic.totals, expected.totals);
    EXPECT_EQ(traffic.bins, expected.bins);
    EXPECT_EQ(traffic.hops, expected.hops);
    EXPECT_EQ(traffic.messages, expected.messages);
    EXPECT_EQ(traffic.end_ps, expected.end_ps);
  }
}

TEST(Contention, IsTheSameOnAnyNumberOfRanks) {
  const std::string wafer =
      "{kind: wafer, tiles: [2, 2], cores: [2, 3], intra_tile: {bandwidth: 40 GB/s, latency: 1 "
      "ns}, inter_tile: {bandwidth: 7 GB/s, latency: 5 ns}}";
  for (const std::string partitioner : {"blocks", "stripes", "metis"}) {
    expect_same_on_any_ranks(network_of(wafer), partitioner);
  }
  expect_same_on_any_ranks(network_of(mesh(4, 4, "3 GB/s", "2 ns", "torus")), "blocks");
  expect_same_on_any_ranks(network_of(mesh(4, 4), "routing: shortest"), "blocks");
  expect_same_on_any_ranks(network_of(mesh(4, 4), "model: flow, flow_limit: 3 GB/s"), "metis");
  expect_same_on_any_ranks(network_of(mesh(4, 4), "model: analytical"), "blocks");
  for (const std::string weights : {"equal", "latency"}) {
    expect_same_on_any_ranks(network_of(wafer, "model: flow, weights: " + weights), "blocks");
    expect_same_on_any_ranks(network_of(wafer, "model: flow, pairs: in-turn, weights: " + weights),
                             "metis");
  }
  expect_same_on_any_ranks(star(), "stripes");
  const std::string cluster =
      "{kind: cluster, nodes: 5, accelerators: 4, nics: 2, switch: {bandwidth: 20 GB/s, latency: 3 "
      "ns}, nic: {bandwidth: 7 GB/s, latency: 4 ns}, port: {bandwidth: 3 GB/s, latency: 5 ns}, "
      "fabric: {kind: fat-tree, leaf_nodes: 2, spines: 3, bandwidth: 6 GB/s, latency: 6 ns}}";
  for (const std::string partitioner : {"servers", "metis", "stripes"}) {
    expect_same_on_any_ranks(network_of(cluster, "message_overhead: 11 ns"), partitioner);
    expect_same_on_any_ranks(network_of(cluster, "model: analytical, message_overhead: 11 ns"),
                             partitioner);
  }
}

// By one link one after the other, whatever comes after it; by another link beside.
TEST(Contention, AnalyticalMessagesShareThePortOfTheirSender) {
  const auto end = [](const std::string& ports, std::uint16_t tag) {
    for (const Arrived& arrival :
         carry(network_of(mesh(3, 3), "model: analytical" + ports),
               {{0, 4, 5, 1000, 1}, {10, 4, 2, 1000, 2}, {20, 4, 7, 1000, 3}})
             .arrivals) {
      if (arrival.tag == tag) {
        return arrival.at_ps;
      }
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(end(", ports: shared", 1), end("", 1));
  EXPECT_EQ(end(", ports: shared", 3), end("", 3));  // to the south
  // To the north-east, by the same link, when the first has left it.
  EXPECT_EQ(end(", ports: shared", 2) - end("", 2), end("", 1) - 2000 - 10);
  expect_same_on_any_ranks(network_of(mesh(4, 4), "model: analytical, ports: shared"), "blocks");
}

// Those that come in by one link share it, whoever sends them; the first comes as if it was alone.
TEST(Contention, AnalyticalMessagesShareThePortOfTheirReceiver) {
  const std::string hub =
      "{kind: graph, nodes: [{name: gpu, count: 10}, {name: hub, kind: switch}], links: [{from: "
      "gpu, to: hub, bandwidth: 1 GB/s, latency: 3 ns}]}";
  std::vector<Send> sends;
  for (std::uint32_t i = 1; i <= 9; ++i) {
    sends.push_back({0, i, 0, 1000, 0});
  }
  const std::string shared = "model: analytical, ports: shared";
  const Traffic traffic = carry(network_of(hub, shared), sends);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(traffic.arrivals[i].at_ps, 6000 + static_cast<std::int64_t>(i + 1) * 1'000'000);
  }
  EXPECT_EQ(last_of(carry(network_of(hub, "model: analytical"), sends)), 6000 + 1'000'000);
  // One that would be there while another comes in waits for that one's bytes only.
  const Traffic two =
      carry(network_of(hub, shared), {{0, 1, 0, 1000, 1}, {400'000, 2, 0, 1000, 2}});
  EXPECT_EQ(two.arrivals[1].at_ps, 6000 + 2'000'000);
  expect_same_on_any_ranks(network_of(hub, shared), "stripes");
}

}  // namespace
}  // namespace tessera::network::contention_test
