// A network that goes on from a checkpoint carries what it carried before, link by link, on any
// number of ranks.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::resumed_test {
namespace {

using testing::carry;
using testing::chain;
using testing::Cut;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::RunSettings;
using testing::Send;
using testing::Traffic;

constexpr std::int64_t microsecond = 1'000'000;  // [ps]

// Of all sizes, some empty, some to their sender, most of them while others are under way.
std::vector<Send> random_traffic(std::uint32_t nodes, std::uint64_t largest) {
  RandomStream random(17, EntityId(nodes), 0);
  const auto below = [&random](std::uint64_t bound) { return random.next_below(bound); };
  std::vector<Send> sends;
  for (std::uint16_t tag = 0; tag < 160; ++tag) {
    Send send{static_cast<std::int64_t>(below(8000)) * 1000,
              static_cast<std::uint32_t>(below(nodes)),
              static_cast<std::uint32_t>(below(nodes)),
              below(4) == 0 ? below(64) : below(largest),
              tag,
              0,
              below(3) == 0 ? answer_flag : std::uint8_t{0}};
    sends.push_back(send);
  }
  return sends;
}

void expect_same(const Traffic& traffic, const Traffic& expected, const std::string& where) {
  EXPECT_EQ(traffic.arrivals, expected.arrivals) << where;
  EXPECT_EQ(traffic.totals, expected.totals) << where;
  EXPECT_EQ(traffic.bins, expected.bins) << where;
  EXPECT_EQ(traffic.hops, expected.hops) << where;
  EXPECT_EQ(traffic.messages, expected.messages) << where;
  EXPECT_EQ(traffic.rounded.asked, expected.rounded.asked) << where;
  EXPECT_EQ(traffic.rounded.carried, expected.rounded.carried) << where;
  EXPECT_TRUE(traffic.truncated.time_ps == expected.truncated.time_ps) << where;
  EXPECT_TRUE(traffic.truncated.dropped_ps == expected.truncated.dropped_ps) << where;
  EXPECT_EQ(traffic.end_ps, expected.end_ps) << where;
}

// Cut at several times, and gone on from on more ranks and on fewer.
void expect_goes_on(const Described& network, const std::vector<Send>& sends,
                    const std::string& what, RunSettings settings = {}) {
  settings.bin_ps = 2 * microsecond;
  const Traffic expected = carry(network, sends, settings);
  EXPECT_EQ(expected.arrivals.size(), sends.size()) << what;
  for (const std::int64_t at : {microsecond / 2, 3 * microsecond, 7 * microsecond}) {
    for (const auto& [before, after] : {std::pair(1, 3), std::pair(2, 1)}) {
      Cut cut{at, {}, {}};
      settings.ranks = before;
      expect_same(carry(network, sends, settings, &cut), expected, what + ": cut");
      ASSERT_FALSE(cut.run.is_empty()) << what << " ends before " << at << " ps";
      EXPECT_FALSE(cut.run.pending().empty()) << what;
      settings.ranks = after;
      expect_same(carry(network, sends, settings, nullptr, &cut), expected,
                  what + ": " + std::to_string(at) + " ps, " + std::to_string(before) + " to " +
                      std::to_string(after) + " ranks");
    }
  }
}

void expect_goes_on(const std::string& topology, const std::string& keys,
                    std::uint64_t largest = 40'000) {
  const Described network = network_of(topology, keys);
  expect_goes_on(network, random_traffic(network.machine.topology->nodes(), largest),
                 topology + " " + keys);
}

TEST(ResumedNetworks, OfPackets) {
  expect_goes_on(mesh(3, 4), "packet_size: 512 B");
  expect_goes_on(mesh(3, 3, "4 GB/s", "3 ns", "torus"), "message_overhead: 70 ns");
  expect_goes_on(chain({"10 GB/s", "3 GB/s", "5 GB/s"}), "routing: shortest");
}

TEST(ResumedNetworks, OfPacketsThatShareLinksEvenly) {
  const std::vector<Send> sends = random_traffic(12, 40'000);
  expect_goes_on(network_of(mesh(3, 4), "packet_size: 512 B, max_packets: 1000, arbitration: fair"),
                 sends, "fair");
  RunSettings settings;
  settings.tenants = {0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2};
  expect_goes_on(network_of(mesh(3, 4), "packet_size: 512 B, arbitration: fair-tenants"), sends,
                 "fair among tenants", settings);
}

TEST(ResumedNetworks, WithoutPackets) {
  expect_goes_on(mesh(3, 4), "model: analytical");
  expect_goes_on(mesh(3, 4), "model: analytical, ports: shared, message_overhead: 70 ns");
  expect_goes_on(mesh(3, 4), "model: analytical, message_tick: 700 ns");
  expect_goes_on(mesh(1, 6), "model: crossbar, port_bandwidth: 1 GB/s, port_latency: 500 ns");
}

// A hub of more links than are searched one by one.
TEST(ResumedNetworks, WithManyLinksIntoANode) {
  const Described network = network_of(
      "{kind: graph, nodes: [{name: gpu, count: 40}, {name: hub}], links: [{from: gpu, to: hub, "
      "bandwidth: 1 GB/s, latency: 3 ns}]}",
      "model: analytical, ports: shared");
  std::vector<Send> sends = random_traffic(41, 4'000);
  for (Send& send : sends) {
    send.to = send.tag % 4 == 0 ? send.to : 40;
  }
  expect_goes_on(network, sends, "a hub");
}

TEST(ResumedNetworks, OfFlits) {
  for (const std::string keys : {"", ", buffer: 4, virtual_channels: 2",
                                 ", tail_credit: true, credit_delay: 2", ", speculative: true"}) {
    expect_goes_on(mesh(3, 3, "32 GB/s", "1 ns"), "model: flit, packet_size: 256 B" + keys, 12'000);
  }
  expect_goes_on(chain({"32 GB/s", "10 GB/s", "32 GB/s"}), "model: flit, packet_size: 1 KiB",
                 12'000);
}

TEST(ResumedNetworks, OfFlows) {
  for (const std::string keys : {"", ", weights: latency", ", flow_limit: 3 GB/s",
                                 ", pairs: in-turn", ", window: 64 B, message_overhead: 70 ns"}) {
    expect_goes_on(mesh(3, 4), "model: flow" + keys);
  }
  std::vector<Send> sends = random_traffic(12, 40'000);
  for (Send& send : sends) {
    send.flags = send.tag % 2 == 0 ? connection_flag : std::uint8_t{0};
    send.limit = send.tag % 3 == 0 ? 1'000'000'000 : 0;
  }
  expect_goes_on(network_of(mesh(3, 4), "model: flow"), sends, "connections and limits");
}

}  // namespace
}  // namespace tessera::network::resumed_test
