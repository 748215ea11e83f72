// The account of links: totals of the run and bins of time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network::link_use_test {
namespace {

using testing::carry;
using testing::chain;
using testing::Described;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;
using testing::Use;

std::vector<std::pair<std::uint32_t, unsigned>> links_of(const Traffic& traffic) {
  std::vector<std::pair<std::uint32_t, unsigned>> links;
  for (const Use& use : traffic.totals) {
    links.emplace_back(use.node, use.port);
  }
  return links;
}

TEST(LinkUse, CountsBytesAndTimeOfEachLinkOnTheWay) {
  const Traffic traffic = carry(network_of(mesh(1, 4)), {{0, 0, 2, 10'000, 0}});
  ASSERT_EQ(traffic.totals.size(), 2U);
  for (const Use& use : traffic.totals) {
    EXPECT_EQ(use.port, machine::east);
    EXPECT_EQ(use.bytes, 10'000U);
    EXPECT_EQ(use.busy_ps, 1'000'000);
    EXPECT_EQ(use.begin_ps, 0);
    EXPECT_EQ(use.end_ps, traffic.end_ps);
  }
  EXPECT_EQ(traffic.hops, 2U * 3);
  EXPECT_EQ(traffic.messages, 1U);
}

TEST(LinkUse, FollowsTheRouting) {
  using machine::east;
  using machine::south;
  const std::vector<Send> sends{{0, 0, 8, 10, 0}};
  EXPECT_THAT(links_of(carry(network_of(mesh(3, 3), "routing: xy"), sends)),
              ElementsAre(std::pair(0U, 1U * east), std::pair(1U, 1U * east),
                          std::pair(2U, 1U * south), std::pair(5U, 1U * south)));
  EXPECT_THAT(links_of(carry(network_of(mesh(3, 3), "routing: yx"), sends)),
              ElementsAre(std::pair(0U, 1U * south), std::pair(3U, 1U * south),
                          std::pair(6U, 1U * east), std::pair(7U, 1U * east)));
}

// The one way of three links is the only one left of its length or less.
TEST(LinkUse, FollowsRoutingsThatSearchOnGridsToo) {
  using machine::east;
  for (const std::string routing : {"ecmp", "shortest"}) {
    const Traffic traffic =
        carry(testing::described("topology: " + mesh(2, 2) + "\nnetwork: {routing: " + routing +
                                 "}\nfaults: {links: [{from: 0, to: 1, "
                                 "dead: true}]}\n"),
              {{0, 0, 1, 10, 0}});
    EXPECT_THAT(links_of(traffic),
                ElementsAre(std::pair(0U, 1U * machine::south), std::pair(2U, 1U * east),
                            std::pair(3U, 1U * machine::north)))
        << routing;
  }
}

// A packet that finds the wire taken sees the bytes before it as the queue.
TEST(LinkUse, KnowsTheLongestQueue) {
  const Traffic traffic = carry(network_of(mesh(1, 2)), std::vector<Send>(5, {0, 0, 1, 4096, 0}));
  ASSERT_EQ(traffic.totals.size(), 1U);
  EXPECT_NEAR(static_cast<double>(traffic.totals[0].queue), 4 * 4096, 1);
}

TEST(LinkUse, AnalyticalKeepsNone) {
  const Traffic traffic = carry(network_of(mesh(1, 4), "model: analytical"), {{0, 0, 2, 10'000, 0}},
                                {1, "blocks", 100});
  EXPECT_THAT(traffic.totals, IsEmpty());
  EXPECT_THAT(traffic.bins, IsEmpty());
}

TEST(LinkUse, SplitsAPacketBetweenBins) {
  // One packet of 4000 B, 400 ns on the wire, in bins of 100 ns.
  const Traffic traffic =
      carry(network_of(mesh(1, 2)), {{0, 0, 1, 4000, 0}, {1'000'000, 0, 1, 1000, 0}},
            {1, "blocks", 100'000});
  ASSERT_GE(traffic.bins.size(), 2U);
  std::uint64_t bytes = 0;
  for (const Use& bin : traffic.bins) {
    EXPECT_LE(bin.busy_ps, bin.end_ps - bin.begin_ps);
    bytes += bin.bytes;
  }
  EXPECT_EQ(bytes, 5000U);
  EXPECT_EQ(traffic.bins[0].bytes, 1000U);
  EXPECT_EQ(traffic.bins[0].busy_ps, 100'000);
}

// Bins of each link sum to its totals; none holds more time than it has or more bytes than the run.
void expect_bins_add_up(const Described& network, std::int64_t bin_ps, const std::string& what) {
  RandomStream random(9, EntityId(0), 0);
  const std::uint32_t nodes = network.machine.topology->nodes();
  std::vector<Send> sends;
  for (int i = 0; i < 150; ++i) {
    sends.push_back({static_cast<std::int64_t>(random.next_below(4000)) * 1000,
                     static_cast<std::uint32_t>(random.next_below(nodes)),
                     static_cast<std::uint32_t>(random.next_below(nodes)), random.next_below(9000),
                     0});
  }
  const Traffic traffic = carry(network, sends, {1, "stripes", bin_ps});
  std::map<std::pair<std::uint32_t, unsigned>, std::pair<std::uint64_t, std::int64_t>> sums;
  for (const Use& bin : traffic.bins) {
    auto& [bytes, busy_ps] = sums[{bin.node, bin.port}];
    bytes += bin.bytes;
    busy_ps += bin.busy_ps;
    EXPECT_LT(bin.begin_ps, bin.end_ps);
    EXPECT_GE(bin.busy_ps, 0);
    EXPECT_LE(bin.busy_ps, bin.end_ps - bin.begin_ps) << what;
    EXPECT_LT(bin.bytes, 1'000'000U) << what << ", bins of " << bin_ps << " ps";
  }
  std::uint64_t carried = 0;
  for (const Use& total : traffic.totals) {
    EXPECT_EQ((sums[{total.node, total.port}]), std::pair(total.bytes, total.busy_ps)) << what;
    EXPECT_LE(total.busy_ps, traffic.end_ps);
    carried += total.bytes;
  }
  EXPECT_EQ(sums.size(), traffic.totals.size());
  std::uint64_t asked = 0;
  const auto routing =
      machine::make_routing(network.machine.topology->default_routing(), *network.machine.topology);
  for (const Send& send : sends) {
    if (send.from != send.to) {
      asked += send.bytes * machine::path_between(*network.machine.topology, *routing,
                                                  EntityId(send.from), EntityId(send.to))
                                .hops;
    }
  }
  EXPECT_EQ(carried, asked) << what;
}

TEST(LinkUse, BinsAddUpToTheTotals) {
  const std::string wafer =
      "{kind: wafer, tiles: [2, 2], cores: [2, 3], intra_tile: {bandwidth: 40 GB/s, latency: 1 "
      "ns}, inter_tile: {bandwidth: 1 GB/s, latency: 5 ns}}";
  for (const std::int64_t bin_ps : {2000, 100'000, 3'000'000}) {
    expect_bins_add_up(network_of(mesh(3, 3)), bin_ps, "mesh");
    expect_bins_add_up(network_of(mesh(3, 3, "1 GB/s", "2 ns", "torus")), bin_ps, "torus");
    expect_bins_add_up(network_of(wafer), bin_ps, "wafer");
    expect_bins_add_up(network_of(chain({"100 MB/s", "1 TB/s", "50 MB/s"})), bin_ps, "chain");
  }
}

// A fast link that waits for the tail of a packet from a slow one carries only that packet.
TEST(LinkUse, AStretchedPacketDoesNotTakeBytesFromEarlierBins) {
  const Described network = network_of(chain({"1 MB/s", "1 TB/s"}));
  const Traffic traffic =
      carry(network, {{0, 1, 2, 1000, 0}, {10'000'000, 0, 2, 10, 0}}, {1, "stripes", 9'000'000});
  std::uint64_t bytes = 0;
  for (const Use& bin : traffic.bins) {
    EXPECT_LE(bin.bytes, 1010U) << "bin at " << bin.begin_ps;
    bytes += bin.node == 1 ? bin.bytes : 0;
  }
  EXPECT_EQ(bytes, 1010U);
}

}  // namespace
}  // namespace tessera::network::link_use_test
