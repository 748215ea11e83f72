// Virtual-channel routers: times on an idle network, sharing, delivery on every kind of machine.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::flit_network_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::RunSettings;
using testing::Send;
using testing::Traffic;
using testing::Use;

constexpr std::int64_t cycle_ps = 1000;
constexpr std::uint64_t flit = 32;

// 32 B a cycle of 1 ns; links of one cycle unless said otherwise.
Described flits(const std::string& topology, const std::string& keys = "") {
  return network_of(topology,
                    "model: flit, packet_size: 16 KiB" + (keys.empty() ? "" : ", " + keys));
}
std::string grid(int rows, int columns, const std::string& kind = "mesh") {
  return mesh(rows, columns, "32 GB/s", "1 ns", kind);
}

std::int64_t cycles_of(const Described& described, std::uint32_t from, std::uint32_t to,
                       std::uint64_t bytes) {
  const Traffic traffic = carry(described, {{0, from, to, bytes, 7}});
  EXPECT_EQ(traffic.arrivals.size(), 1U);
  EXPECT_EQ(traffic.arrivals.front().at, to);
  EXPECT_EQ(traffic.arrivals.front().from, from);
  EXPECT_EQ(traffic.arrivals.front().tag, 7);
  EXPECT_EQ(traffic.arrivals.front().at_ps % cycle_ps, 0);
  return traffic.arrivals.front().at_ps / cycle_ps;
}

// T0 = H (r + 1) + 2 + (F - 1): H routers of r cycles, links of one, the node's two links.
TEST(FlitNetwork, AloneAMessageTakesThePipelineOfEachRouter) {
  const Described plain = flits(grid(3, 8));
  const Described lookahead = flits(grid(3, 8), "routing_delay: 0");
  for (const std::int64_t flits_of : {1, 2, 7, 20, 300}) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(flits_of) * flit;
    EXPECT_EQ(cycles_of(plain, 0, 7, bytes), 8 * 5 + 2 + flits_of - 1);
    EXPECT_EQ(cycles_of(plain, 3, 20, bytes), 4 * 5 + 2 + flits_of - 1);
    EXPECT_EQ(cycles_of(lookahead, 0, 7, bytes), 8 * 4 + 2 + flits_of - 1);
    EXPECT_EQ(cycles_of(lookahead, 23, 0, bytes), 10 * 4 + 2 + flits_of - 1);
  }
}

TEST(FlitNetwork, EveryStageTakesItsDelay) {
  const std::string line = grid(1, 5);
  const std::int64_t usual = cycles_of(flits(line), 0, 4, 32);
  EXPECT_EQ(cycles_of(flits(line, "routing_delay: 3"), 0, 4, 32), usual + 5 * 2);
  EXPECT_EQ(cycles_of(flits(line, "vc_allocation_delay: 2"), 0, 4, 32), usual + 5);
  EXPECT_EQ(cycles_of(flits(line, "switch_allocation_delay: 2"), 0, 4, 32), usual + 5);
  EXPECT_EQ(cycles_of(flits(line, "traversal_delay: 4"), 0, 4, 32), usual + 5 * 3);
  EXPECT_EQ(cycles_of(flits(line, "interface_delay: 3"), 0, 4, 32), usual + 2 * 2);
  EXPECT_EQ(cycles_of(flits(line, "speculative: true"), 0, 4, 32), usual - 5);
  EXPECT_EQ(cycles_of(flits(line, "tail_credit: true, credit_delay: 2"), 0, 4, 32), usual);
  EXPECT_EQ(cycles_of(flits(mesh(1, 5, "32 GB/s", "7500 ps")), 0, 4, 32), usual + 4 * 7);
}

// A loop of credits longer than the buffer: buffer flits a round.
TEST(FlitNetwork, FewBuffersHoldAMessageBack) {
  const std::string far = mesh(1, 2, "32 GB/s", "20 ns");
  const std::int64_t deep = cycles_of(flits(far, "buffer: 64"), 0, 1, 400 * flit);
  const std::int64_t shallow = cycles_of(flits(far, "buffer: 8"), 0, 1, 400 * flit);
  // A flit takes 22 cycles, a credit 21, and the switch is asked for in the same cycle.
  const std::int64_t round = 22 + 21;
  EXPECT_EQ(deep, 2 * 5 + 19 + 2 + 399);
  EXPECT_NEAR(static_cast<double>(shallow), 400.0 / 8 * static_cast<double>(round), 50);
}

// Buffers below a round trip of credits, alone on the way: packets take virtual channels in turn.
TEST(FlitNetwork, IdleTimesKnowOfCredits) {
  for (const std::string keys :
       {"packet_size: 512 B", "packet_size: 512 B, virtual_channels: 1", "packet_size: 16 KiB"}) {
    const Described described =
        network_of(mesh(1, 3, "32 GB/s", "250 ns", "mesh"), "model: flit, " + keys);
    const auto routing = machine::make_routing("xy", *described.machine.topology);
    for (const std::uint64_t flits_of : {1, 8, 9, 16, 17, 64, 128, 1024}) {
      const Traffic traffic = carry(described, {{0, 0, 2, flits_of * flit, 7}});
      const auto path =
          machine::path_between(*described.machine.topology, *routing, EntityId(0), EntityId(2));
      const auto walked = static_cast<double>(traffic.arrivals.front().at_ps);
      const auto idle =
          static_cast<double>(described.network->idle_time(path, Bytes(flits_of * flit)).ps());
      EXPECT_NEAR(idle, walked, 0.04 * walked) << keys << ", " << flits_of << " flits";
    }
  }
}

TEST(FlitNetwork, SlowLinksTakeTheirTime) {
  const Described slow = flits(testing::chain({"32 GB/s", "10 GB/s", "32 GB/s"}));
  // The way of the first flit, 999 times 3.2 cycles, and two routers after the slow link, where a
  // flit that is no head spends two cycles less.
  EXPECT_EQ(cycles_of(slow, 0, 3, 1000 * flit), 4 * 5 + 3 + 2 + 3197 - 2 * 2);
}

TEST(FlitNetwork, MessagesOfAnySizeArriveOnce) {
  const Described described = network_of(grid(2, 3), "model: flit, packet_size: 100 B");
  std::vector<Send> sends;
  std::uint16_t tag = 0;
  for (const std::uint64_t bytes : {0, 1, 32, 33, 127, 128, 129, 160, 161, 1000, 12'345}) {
    for (std::uint32_t from = 0; from < 6; ++from) {
      sends.push_back({tag * 17, from, 5 - from, bytes, tag});
      ++tag;
    }
  }
  const Traffic traffic = carry(described, sends);
  ASSERT_EQ(traffic.arrivals.size(), sends.size());
  std::set<std::uint64_t> words;
  for (const Arrived& arrival : traffic.arrivals) {
    const Send& send = sends[arrival.word];
    EXPECT_TRUE(words.insert(arrival.word).second);
    EXPECT_EQ(arrival.tag, send.tag);
    EXPECT_EQ(arrival.at, send.to);
    EXPECT_EQ(arrival.from, send.from);
  }
}

TEST(FlitNetwork, TwoStreamsShareALink) {
  const Described line = flits(grid(1, 3));
  const std::int64_t alone = cycles_of(line, 0, 2, 500 * flit);
  const Traffic both = carry(line, {{0, 0, 2, 500 * flit, 0}, {0, 1, 2, 500 * flit, 1}});
  ASSERT_EQ(both.arrivals.size(), 2U);
  for (const Arrived& arrival : both.arrivals) {
    EXPECT_GT(arrival.at_ps, (alone + 450) * cycle_ps);
    EXPECT_LT(arrival.at_ps, (alone + 520) * cycle_ps);
  }
}

TEST(FlitNetwork, MessagesToTheOwnNodeTakeNoTimeUnlessLooped) {
  EXPECT_EQ(cycles_of(flits(grid(2, 2)), 1, 1, 64), 0);
  EXPECT_EQ(cycles_of(flits(grid(2, 2), "loopback: true"), 1, 1, 32), 7);
}

TEST(FlitNetwork, LinksAreAccountedFor) {
  const Traffic traffic =
      carry(flits(grid(1, 3)), {{0, 0, 2, 10 * flit, 0}}, {1, "stripes", 20'000});
  ASSERT_EQ(traffic.totals.size(), 2U);
  std::map<std::uint32_t, std::uint64_t> in_bins;
  for (const Use& use : traffic.bins) {
    in_bins[use.node] += use.bytes;
  }
  for (const Use& use : traffic.totals) {
    EXPECT_EQ(use.bytes, 10 * flit);
    EXPECT_EQ(use.busy_ps, 10 * cycle_ps);
    EXPECT_EQ(in_bins[use.node], use.bytes);
  }
  EXPECT_EQ(traffic.hops, 30U);  // through three routers
  EXPECT_EQ(traffic.messages, 1U);
}

std::vector<Send> random_sends(std::uint32_t nodes, int count, std::uint64_t most_bytes) {
  std::vector<Send> sends;
  RandomStream random(3, EntityId(0), 0);
  for (int i = 0; i < count; ++i) {
    Send send;
    send.at_ps = static_cast<std::int64_t>(random.next_below(300'000));
    send.from = static_cast<std::uint32_t>(random.next_below(nodes));
    send.to = static_cast<std::uint32_t>(random.next_below(nodes));
    send.bytes = 1 + random.next_below(most_bytes);
    send.tag = static_cast<std::uint16_t>(i);
    sends.push_back(send);
  }
  return sends;
}

struct Case {
  std::string name;
  std::string topology;
  std::string keys;
  std::uint32_t nodes = 16;
};

class FlitEverywhere : public ::testing::TestWithParam<Case> {};

// So much at once that buffers and channels are full: nothing waits in a circle, and the order of
// events does not depend on the ranks.
TEST_P(FlitEverywhere, EverythingArrivesAndRanksDoNotMatter) {
  const Case& one = GetParam();
  const Described described = network_of(
      one.topology, "model: flit, packet_size: 256 B" + (one.keys.empty() ? "" : ", " + one.keys));
  const std::vector<Send> sends = random_sends(one.nodes, 250, 2000);
  const Traffic alone = carry(described, sends);
  ASSERT_EQ(alone.arrivals.size(), sends.size());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const Traffic shared = carry(described, sends, {ranks, "stripes", 0});
    EXPECT_EQ(shared.arrivals, alone.arrivals) << ranks;
    EXPECT_EQ(shared.totals, alone.totals) << ranks;
    EXPECT_EQ(shared.hops, alone.hops) << ranks;
    EXPECT_EQ(shared.end_ps, alone.end_ps) << ranks;
  }
}

const std::string links = "{bandwidth: 32 GB/s, latency: 1 ns}";

INSTANTIATE_TEST_SUITE_P(
    Machines, FlitEverywhere,
    ::testing::Values(
        Case{"xy", grid(4, 4), "routing: xy"}, Case{"yx", grid(4, 4), "routing: yx"},
        Case{"west_first", grid(4, 4), "routing: west-first, virtual_channels: 1"},
        Case{"odd_even", grid(4, 4), "routing: odd-even, virtual_channels: 1"},
        Case{"shortest", grid(4, 4), "routing: shortest, virtual_channels: 2"},
        Case{"torus", grid(4, 4, "torus"), "virtual_channels: 2, buffer: 2"},
        Case{"torus_yx", grid(2, 8, "torus"), "routing: yx, virtual_channels: 3"},
        Case{"tail_credit", grid(4, 4), "tail_credit: true, credit_delay: 2, buffer: 3"},
        Case{"round_robin", grid(4, 4), "allocator: round-robin, allocator_iterations: 2"},
        Case{"speed_ups", grid(4, 4), "input_speedup: 2, output_speedup: 2, speculative: true"},
        Case{"delays", grid(4, 4),
             "vc_allocation_delay: 2, switch_allocation_delay: 3, routing_delay: 2"},
        Case{"wafer",
             "{kind: wafer, tiles: [2, 2], cores: [2, 2], intra_tile: " + links +
                 ", inter_tile: {bandwidth: 5 GB/s, latency: 8 ns}}",
             ""},
        Case{"double_ring", "{kind: double-ring, size: 16, bandwidth: 32 GB/s, latency: 1 ns}", ""},
        Case{"hypercube", "{kind: hypercube, dimensions: 4, bandwidth: 32 GB/s, latency: 1 ns}",
             ""},
        Case{
            "fat_tree",
            "{kind: fat-tree, k: 4, node: " + links + ", edge: " + links + ", core: " + links + "}",
            "virtual_channels: 1"},
        Case{"dragonfly",
             "{kind: dragonfly, groups: 4, routers: 2, npus: 2, global: 2, node: " + links +
                 ", local: " + links + ", global_links: " + links + "}",
             ""},
        Case{"concentrated_mesh",
             "{kind: concentrated-mesh, rows: 2, columns: 2, concentration: 4, node: " + links +
                 ", bandwidth: 32 GB/s, latency: 1 ns}",
             "virtual_channels: 1"},
        Case{"star",
             "{kind: graph, nodes: [{name: gpu, count: 16}, {name: hub, kind: switch}], links: "
             "[{from: gpu, to: hub, bandwidth: 32 GB/s, latency: 1 ns}]}",
             "virtual_channels: 1"}),
    [](const auto& parameter) { return parameter.param.name; });

std::string refusal(const std::string& topology, const std::string& keys) {
  try {
    network_of(topology, "model: flit, " + keys);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(FlitNetwork, RefusesWhatMayEndInDeadlock) {
  EXPECT_NE(refusal(grid(4, 4, "torus"), "virtual_channels: 1").find("need 2 virtual channels"),
            std::string::npos);
  EXPECT_NE(refusal(grid(4, 4, "torus"), "routing: odd-even").find("is for meshes"),
            std::string::npos);
  std::string ring = "{kind: graph, nodes: [{name: n, count: 6}], links: [";
  for (int i = 0; i < 6; ++i) {
    ring += (i == 0 ? "" : ", ") + ("{from: \"n[" + std::to_string(i)) + "]\", to: \"n[" +
            std::to_string((i + 1) % 6) + "]\", bandwidth: 32 GB/s, latency: 1 ns}";
  }
  ring += "]}";
  EXPECT_NE(refusal(ring, "virtual_channels: 1").find("virtual channels against deadlock"),
            std::string::npos);
  EXPECT_NE(refusal("{kind: graph, nodes: [{name: n, count: 3}], links: [{from: \"n[0]\", to: "
                    "\"n[1]\", bandwidth: 32 GB/s, latency: 1 ns}, {from: \"n[1]\", to: \"n[2]\", "
                    "bandwidth: 32 GB/s, latency: 1 ns, directions: one}, {from: \"n[2]\", to: "
                    "\"n[0]\", bandwidth: 32 GB/s, latency: 1 ns, directions: one}]}",
                    "buffer: 8")
                .find("none leads back"),
            std::string::npos);
  EXPECT_NE(refusal(grid(2, 2), "input_speedup: 8").find("virtual channels"), std::string::npos);
  EXPECT_NE(refusal(grid(2, 2), "flit_size: 1 B, virtual_channels: 99"), "");
}

TEST(FlitNetwork, ARouterTakesFourKiB) {
  const Described described = flits(grid(8, 8));
  EXPECT_LE(described.network->predicted_bytes(described.machine, 64, false), 64U * 4096);
}

}  // namespace
}  // namespace tessera::network::flit_network_test
