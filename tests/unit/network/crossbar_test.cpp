// The ideal switch: ports share, nothing else does.

#include <gtest/gtest.h>

#include "harness.hpp"

namespace tessera::network::crossbar_test {
namespace {

using testing::Arrived;
using testing::carry;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;

// 1 GB/s: a byte takes 1 ns; a switch of 500 ns.
Described crossbar(const std::string& keys = "") {
  return network_of(mesh(4, 4),
                    "model: crossbar, port_bandwidth: 1 GB/s, port_latency: 500 ns" + keys);
}

TEST(Crossbar, AloneAMessageTakesLatencyAndSizeOverBandwidth) {
  for (const std::uint64_t bytes : {1ULL, 4096ULL, 4097ULL, 1'000'003ULL}) {
    const Traffic traffic = carry(crossbar(), {{0, 0, 15, bytes, 3}});
    ASSERT_EQ(traffic.arrivals.size(), 1U);
    EXPECT_EQ(traffic.arrivals[0].at_ps, 500'000 + static_cast<std::int64_t>(bytes) * 1000);
    EXPECT_EQ(traffic.arrivals[0].tag, 3);
  }
}

TEST(Crossbar, SaysWhichLinksItDoesNotLookAt) {
  const auto notes = [](const std::string& keys) {
    const Described network = network_of(
        "{kind: wafer, tiles: [2, 2], cores: [2, 2], intra_tile: {bandwidth: 8 GB/s, latency: 1 "
        "ns}, "
        "inter_tile: {bandwidth: 2 GB/s, latency: 5 ns}}",
        "model: crossbar" + keys);
    return network.network->notes(network.machine);
  };
  ASSERT_EQ(notes("").size(), 1U);
  EXPECT_NE(notes("")[0].find("2 GB/s"), std::string::npos) << notes("")[0];
  EXPECT_TRUE(notes(", port_bandwidth: 2 GB/s").empty());
}

TEST(Crossbar, SendersToOneNodeShareItsPort) {
  std::vector<Send> sends;
  for (std::uint32_t from = 1; from < 9; ++from) {
    sends.push_back({0, from, 0, 100'000, 0});
  }
  std::int64_t last = 0;
  for (const Arrived& arrival : carry(crossbar(), sends).arrivals) {
    last = std::max(last, arrival.at_ps);
  }
  EXPECT_EQ(last, 500'000 + 8 * 100'000 * 1000LL);
}

TEST(Crossbar, MessagesOfOneSenderShareItsPort) {
  const Traffic traffic = carry(crossbar(), {{0, 0, 1, 1000, 0}, {0, 0, 2, 1000, 1}});
  ASSERT_EQ(traffic.arrivals.size(), 2U);
  EXPECT_EQ(traffic.arrivals[0].at_ps, 500'000 + 1'000'000);
  EXPECT_EQ(traffic.arrivals[1].at_ps, 500'000 + 2'000'000);
}

TEST(Crossbar, PairsDoNotMeet) {
  const Traffic traffic = carry(crossbar(), {{0, 0, 1, 1000, 0}, {0, 2, 3, 1000, 1}});
  for (const Arrived& arrival : traffic.arrivals) {
    EXPECT_EQ(arrival.at_ps, 1'500'000);
  }
}

TEST(Crossbar, RanksDoNotMatter) {
  std::vector<Send> sends;
  for (std::uint32_t i = 0; i < 300; ++i) {
    sends.push_back({i * 977 % 50'000, i % 16, i * 7 % 16, 1 + i * 131 % 9000, 0});
  }
  const Traffic alone = carry(crossbar(), sends);
  EXPECT_EQ(alone.arrivals.size(), sends.size());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    EXPECT_EQ(carry(crossbar(), sends, {ranks, "stripes", 0}).arrivals, alone.arrivals);
  }
}

}  // namespace
}  // namespace tessera::network::crossbar_test
