// A single message: hops * latency + ceil(size / bandwidth of the slowest link), to the picosecond,
// for every network without queues (PALM, equation (2) without its contention term).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::network::uncontended_test {
namespace {

using testing::carry;
using testing::chain;
using testing::described;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;

const std::vector<std::uint64_t> sizes{1,    2,    63,   64,    100,     4095,
                                       4096, 4097, 8192, 12345, 262'143, 1'000'003};

std::int64_t wire_time(std::uint64_t bytes, std::uint64_t rate) {
  return serialization_time(Bytes(bytes), Bandwidth::bytes_per_second(rate)).ps();
}

std::int64_t time_of(const Described& network, std::uint32_t from, std::uint32_t to,
                     std::uint64_t bytes) {
  const Traffic traffic = carry(network, {Send{1000, from, to, bytes, 5}});
  EXPECT_EQ(traffic.arrivals.size(), 1U);
  if (traffic.arrivals.size() != 1) {
    return -1;
  }
  EXPECT_EQ(traffic.arrivals[0].at, to);
  EXPECT_EQ(traffic.arrivals[0].from, from);
  EXPECT_EQ(traffic.arrivals[0].tag, 5);
  return traffic.arrivals[0].at_ps - 1000;
}

void expect_formula(const Described& network, std::uint32_t from, std::uint32_t to,
                    std::int64_t latency_ps, std::uint64_t rate, const std::string& what) {
  for (const std::uint64_t bytes : sizes) {
    EXPECT_EQ(time_of(network, from, to, bytes), latency_ps + wire_time(bytes, rate))
        << what << ", " << bytes << " bytes";
  }
}

TEST(Uncontended, RowsOfOneToTwentyHops) {
  const Described network = network_of(mesh(1, 21));
  for (std::uint32_t hops = 1; hops <= 20; ++hops) {
    expect_formula(network, 0, hops, hops * 2000, 10'000'000'000, std::to_string(hops) + " hops");
  }
}

// Rates whose byte is not a whole number of picoseconds: fractions must not add up over packets.
TEST(Uncontended, OddBandwidths) {
  for (const std::uint64_t rate :
       {4'400'000'000ULL, 17'157'945'430ULL, 999'999'937ULL, 1'000'003ULL, 3'000'000'000ULL,
        7'777'777'777'000ULL, 104'729ULL}) {
    const Described network =
        network_of(mesh(1, 5, std::to_string(rate) + " B/s"), "packet_size: 100 B");
    for (const std::uint64_t bytes : {1ULL, 99ULL, 101ULL, 6400ULL, 54'321ULL}) {
      EXPECT_EQ(time_of(network, 0, 4, bytes), 4 * 2000 + wire_time(bytes, rate))
          << rate << " B/s, " << bytes << " bytes";
    }
  }
}

// A rate that does not fit the fraction of a wire is cut by less than three parts in 10^9.
TEST(Uncontended, ARateOfManyDigitsIsNearlyExact) {
  for (const std::uint64_t rate : {17'157'945'438ULL, 42'949'672'999ULL, 999'999'999'989ULL}) {
    const Described network = network_of(mesh(1, 3, std::to_string(rate) + " B/s"));
    constexpr std::uint64_t bytes = 100'000'000'000;
    const std::int64_t exact = 2 * 2000 + wire_time(bytes, rate);
    const std::int64_t time = time_of(network, 0, 2, bytes);
    EXPECT_GE(time, exact);
    EXPECT_LE(static_cast<double>(time - exact), 3e-9 * static_cast<double>(exact)) << rate;
  }
}

TEST(Uncontended, AnyPacketSize) {
  for (const std::string cut :
       {"packet_size: 1 B, max_packets: 1000000", "packet_size: 7 B, max_packets: 3000",
        "packet_size: 4 KiB", "packet_size: 1 GB", "packet_size: 64 B, max_packets: 1",
        "packet_size: 1000 B, max_packets: 7"}) {
    const Described network = network_of(mesh(1, 4, "4.4 GB/s"), cut);
    for (const std::uint64_t bytes : {1ULL, 6ULL, 8ULL, 1000ULL, 7001ULL, 20'011ULL}) {
      EXPECT_EQ(time_of(network, 3, 0, bytes), 3 * 2000 + wire_time(bytes, 4'400'000'000))
          << cut << ", " << bytes << " bytes";
    }
  }
}

TEST(Uncontended, BothDimensionsOfAMeshAndATorus) {
  const Described grid = network_of(mesh(5, 6));
  expect_formula(grid, 0, 29, 9 * 2000, 10'000'000'000, "mesh, corner to corner");
  expect_formula(grid, 24, 5, 9 * 2000, 10'000'000'000, "mesh, up and right");
  const Described torus = network_of(mesh(5, 6, "10 GB/s", "2 ns", "torus"));
  expect_formula(torus, 0, 29, 2 * 2000, 10'000'000'000, "torus, around both ends");
  expect_formula(torus, 0, 15, 5 * 2000, 10'000'000'000, "torus, half way");
}

TEST(Uncontended, TheSlowestLinkOfAWafer) {
  // Rows of three tiles of 1 x 3 cores: the links between tiles are slow.
  const Described wafer = network_of(
      "{kind: wafer, tiles: [1, 3], cores: [1, 3], intra_tile: {bandwidth: 40 GB/s, latency: 1 "
      "ns}, inter_tile: {bandwidth: 7 GB/s, latency: 5 ns}}");
  expect_formula(wafer, 0, 2, 2 * 1000, 40'000'000'000, "inside a tile");
  expect_formula(wafer, 2, 3, 5000, 7'000'000'000, "between tiles");
  expect_formula(wafer, 0, 8, 6 * 1000 + 2 * 5000, 7'000'000'000, "fast, slow, fast, slow, fast");
  expect_formula(wafer, 2, 4, 5000 + 1000, 7'000'000'000, "slow first");
  expect_formula(wafer, 1, 3, 1000 + 5000, 7'000'000'000, "slow last");
}

TEST(Uncontended, TheSlowestLinkOfAChain) {
  struct Case {
    std::vector<std::string> rates;
    std::uint64_t slowest;
  };
  for (const Case& chain_case : {Case{{"3 GB/s", "10 GB/s", "10 GB/s"}, 3'000'000'000},
                                 Case{{"10 GB/s", "3 GB/s", "10 GB/s"}, 3'000'000'000},
                                 Case{{"10 GB/s", "10 GB/s", "3 GB/s"}, 3'000'000'000},
                                 Case{{"7 GB/s", "3 GB/s", "11 GB/s", "3 GB/s"}, 3'000'000'000},
                                 Case{{"9 GB/s", "7 GB/s", "5 GB/s", "3 GB/s"}, 3'000'000'000},
                                 Case{{"3 GB/s", "5 GB/s", "7 GB/s", "9 GB/s"}, 3'000'000'000}}) {
    const auto last = static_cast<std::uint32_t>(chain_case.rates.size());
    expect_formula(network_of(chain(chain_case.rates)), 0, last, last * 2000, chain_case.slowest,
                   chain(chain_case.rates));
  }
}

TEST(Uncontended, AMessageLargerThanAllPackets) {
  const Described network = network_of(mesh(1, 3), "packet_size: 64 B, max_packets: 10");
  const Traffic traffic = carry(network, {Send{0, 0, 2, 1'000'000, 0}});
  ASSERT_EQ(traffic.arrivals.size(), 1U);
  EXPECT_EQ(traffic.arrivals[0].at_ps, 4000 + wire_time(1'000'000, 10'000'000'000));
  EXPECT_EQ(traffic.hops, 20U);
}

TEST(Uncontended, ALinkSlowerThanAnyPacketsField) {
  // One packet of 4 KiB takes 4 s here: it is cut so that its tail lag fits 32 bits.
  expect_formula(network_of(mesh(1, 3, "1 kB/s")), 0, 2, 4000, 1000, "1 kB/s");
}

TEST(Uncontended, NoBytesTakeTheLatencyAlone) {
  EXPECT_EQ(time_of(network_of(mesh(1, 8)), 0, 7, 0), 7 * 2000);
  EXPECT_EQ(time_of(network_of(mesh(1, 8), "model: analytical"), 0, 7, 0), 7 * 2000);
}

TEST(Uncontended, AMessageToItselfTakesNoTime) {
  for (const std::string model : {"packet", "analytical"}) {
    const Described network = network_of(mesh(2, 2), "model: " + model);
    EXPECT_EQ(time_of(network, 3, 3, 1'000'000), 0) << model;
  }
}

TEST(Analytical, IsTheFormulaWithoutContention) {
  const Described wafer = network_of(
      "{kind: wafer, tiles: [2, 3], cores: [2, 3], intra_tile: {bandwidth: 40 GB/s, latency: 1 "
      "ns}, inter_tile: {bandwidth: 7 GB/s, latency: 5 ns}}",
      "model: analytical");
  expect_formula(wafer, 0, 8, 6 * 1000 + 2 * 5000, 7'000'000'000, "a row");
  // Ten messages at once over the same link do not hinder each other.
  const Traffic traffic = carry(wafer, std::vector<Send>(10, Send{0, 0, 1, 40'000, 0}));
  ASSERT_EQ(traffic.arrivals.size(), 10U);
  for (const auto& arrival : traffic.arrivals) {
    EXPECT_EQ(arrival.at_ps, 1000 + 1'000'000);
  }
  EXPECT_EQ(traffic.messages, 10U);
  EXPECT_EQ(traffic.hops, 10U);
}

// 1.024 GB/s keeps all its bits; a limit above the link's rate changes nothing.
TEST(Analytical, HoldsMessagesToTheirLimit) {
  const Described line = network_of(mesh(1, 2), "model: analytical");
  const Traffic traffic =
      carry(line, {{0, 0, 1, 4096, 0, 1'024'000'000}, {0, 0, 1, 4000, 1, 1ULL << 40}});
  ASSERT_EQ(traffic.arrivals.size(), 2U);
  EXPECT_EQ(traffic.arrivals[0].at_ps, 2000 + 400'000);
  EXPECT_EQ(traffic.arrivals[1].at_ps, 2000 + 4'000'000);
}

TEST(Uncontended, ATickLeavesOutWhatIsBehindIt) {
  const std::vector<Send> sends{{0, 0, 1, 5000, 0}, {0, 1, 1, 999, 1}, {0, 0, 2, 100, 2}};
  const auto with = [&](const std::string& tick) {
    return carry(
        network_of(mesh(1, 3, "1 GB/s", "2 ns"), "model: analytical, message_tick: " + tick),
        sends);
  };
  // 5002 ns become 5 us and 104 ns the 4 ns of the way; a message to its sender uses no link.
  const Traffic coarse = with("1 us");
  ASSERT_EQ(coarse.arrivals.size(), 3U);
  EXPECT_EQ(coarse.end_ps, 5'000'000);
  EXPECT_TRUE(coarse.truncated.time_ps == 5'002'000 + 104'000);
  EXPECT_TRUE(coarse.truncated.dropped_ps == 2'000 + 100'000);
  EXPECT_TRUE(with("1 ns").truncated.dropped_ps == 0);
  EXPECT_TRUE(with("1 ps").truncated.time_ps == 0) << "there is nothing to add up";
}

// What an outlook counts on: nothing arrives before.
TEST(Uncontended, AnalyticalSaysWhereAndWhenMessagesLeaveARegion) {
  const Described described =
      network_of(mesh(2, 4), "model: analytical, message_overhead: 300 ns, message_tick: 1 ns");
  const std::vector<std::uint32_t> owner{0, 0, 1, 1, 0, 0, 2, 2};
  const pdes::RegionView regions{owner, 0};
  const std::vector<EntityId> members{EntityId(0), EntityId(1), EntityId(4), EntityId(5)};
  const auto network = described.network->build({described.machine, members, 0, &regions});
  EXPECT_TRUE(described.network->promises());
  for (const EntityId from : members) {
    for (std::uint32_t to = 0; to < owner.size(); ++to) {
      const pdes::Exit exit = network->exit_of(from, EntityId(to));
      EXPECT_EQ(exit.leaves(), owner[to] != 0) << from.value() << " to " << to;
      if (exit.leaves()) {
        EXPECT_EQ(exit.region, owner[to]);
        EXPECT_LE(exit.latency.ps(), time_of(described, from.value(), to, 1));
      }
      for (const std::uint64_t bytes : sizes) {
        EXPECT_EQ(network->least_time(from, EntityId(to), Bytes(bytes)).ps(),
                  time_of(described, from.value(), to, bytes))
            << from.value() << " to " << to << ", " << bytes << " bytes";
      }
    }
  }
  EXPECT_EQ(network->outlook(1, {}), pdes::Outlook());
  const auto alone = described.network->build({described.machine, members, 0, nullptr});
  EXPECT_FALSE(alone->outlook(1, {}));
}

}  // namespace
}  // namespace tessera::network::uncontended_test
