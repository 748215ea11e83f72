// DRAM channels at nodes (PALM, section IV-C, equations (4) and (5)).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::memory::channel_test {
namespace {

using testing::Access;
using testing::described;
using testing::Described;
using testing::Done;
using testing::Outcome;
using testing::run;
using testing::Use;

// A row of nodes with one channel at its west end. The network moves a byte in 1 ns and takes 2 ns
// a hop; the channel a byte in 2 ns, after 100 ns.
constexpr std::int64_t hop_ps = 2000;
constexpr std::int64_t response_ps = 100'000;

Described row(int columns, const std::string& memory, const std::string& network = "") {
  return described("topology: {kind: mesh, rows: 1, columns: " + std::to_string(columns) +
                   ", bandwidth: 1 GB/s, latency: 2 ns}\n"
                   "dram: {at: nodes, nodes: [0], bandwidth: 500 MB/s, latency: 100 ns}\n"
                   "network: {" +
                   network + "}\nmemory: {model: channel, " + memory + "}\n");
}

std::int64_t time_of(const Described& machine, const Access& access) {
  const Outcome outcome = run(machine, {access});
  EXPECT_EQ(outcome.done.size(), 1U);
  return outcome.done.empty() ? -1 : outcome.done[0].at_ps - access.at_ps;
}

// In one burst: request over, wait for nothing, service, response, data back.
TEST(ChannelMemory, AReadIsRequestServiceResponseAndTransfer) {
  const Described machine = row(5, "burst: 1 TB, request: 64 B");
  for (std::int64_t hops = 1; hops <= 4; ++hops) {
    for (const std::int64_t bytes : {1, 64, 4096, 1'000'000}) {
      const Access access{700, static_cast<std::uint32_t>(hops), static_cast<std::uint64_t>(bytes),
                          false, 3};
      EXPECT_EQ(time_of(machine, access),
                hops * hop_ps + 64'000 + bytes * 2000 + response_ps + hops * hop_ps + bytes * 1000)
          << hops << " hops, " << bytes << " bytes";
    }
  }
}

TEST(ChannelMemory, AWriteIsTransferServiceResponseAndAcknowledgement) {
  const Described machine = row(5, "burst: 1 TB, request: 16 B");
  for (std::int64_t hops = 1; hops <= 4; ++hops) {
    for (const std::int64_t bytes : {1, 64, 4096, 1'000'000}) {
      const Access access{700, static_cast<std::uint32_t>(hops), static_cast<std::uint64_t>(bytes),
                          true, 3};
      EXPECT_EQ(time_of(machine, access),
                hops * hop_ps + bytes * 1000 + bytes * 2000 + response_ps + hops * hop_ps + 16'000);
    }
  }
}

TEST(ChannelMemory, TheTileAtTheChannelUsesNoNetwork) {
  const Described machine = row(2, "burst: 1 TB");
  EXPECT_EQ(time_of(machine, {0, 0, 5000, false, 0}), 5000 * 2000 + response_ps);
  EXPECT_EQ(time_of(machine, {0, 0, 5000, true, 0}), 5000 * 2000 + response_ps);
}

// The network carries one burst while the channel serves the next: only the last burst's transfer
// shows in a read, only the first one's in a write.
TEST(ChannelMemory, BurstsFormAPipeline) {
  const Described machine = row(2, "burst: 1000 B, max_bursts: 100, request: 0 B");
  EXPECT_EQ(time_of(machine, {0, 1, 10'000, false, 0}),
            2 * hop_ps + 10'000 * 2000 + response_ps + 1000 * 1000);
  EXPECT_EQ(time_of(machine, {0, 1, 10'000, true, 0}),
            2 * hop_ps + 1000 * 1000 + 10'000 * 2000 + response_ps);
}

TEST(ChannelMemory, MakesBurstsLargerRatherThanTooMany) {
  const Described machine = row(2, "burst: 1 B, max_bursts: 4, request: 0 B");
  EXPECT_EQ(time_of(machine, {0, 1, 10'000, false, 0}),
            2 * hop_ps + 10'000 * 2000 + response_ps + 2500 * 1000);
}

// An access is over when all of its bursts are, whatever their sizes and in a network where a small
// message overtakes a large one.
TEST(ChannelMemory, EndsWithTheLastBurstOnAnyNetwork) {
  for (const std::string network : {"model: packet", "model: analytical"}) {
    const Described machine = row(2, "burst: 1000 B, max_bursts: 100, request: 0 B", network);
    for (const std::uint64_t bytes : {1001ULL, 1999ULL, 2001ULL, 10'001ULL}) {
      const std::int64_t service = static_cast<std::int64_t>(bytes) * 2000;
      for (const bool write : {false, true}) {
        const std::int64_t time = time_of(machine, {0, 1, bytes, write, 0});
        EXPECT_GE(time, 2 * hop_ps + service + response_ps) << network << ' ' << bytes << write;
        EXPECT_LE(time, 2 * hop_ps + service + response_ps + 1000 * 1000) << network << bytes;
      }
    }
  }
}

// Bursts of one size that are over at one instant come in the order in which they were sent, also
// where others have been there before.
TEST(ChannelMemory, EndsWithTheLastBurstOfEachOfManyWrites) {
  for (const std::string network : {"model: packet", "model: analytical", "model: flow"}) {
    for (const char* const bursts : {"2", "3", "4", "8"}) {
      const Described machine =
          row(2, std::string("burst: 100 B, request: 0 B, max_bursts: ") + bursts, network);
      constexpr std::int64_t apart = 1'000'000'000;
      constexpr std::uint64_t bytes = 10'000;
      std::vector<Access> accesses;
      for (std::uint16_t number = 0; number < 9; ++number) {
        accesses.push_back({number * apart, 1, bytes, true, number});
      }
      const Outcome outcome = run(machine, accesses);
      ASSERT_EQ(outcome.done.size(), accesses.size());
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        EXPECT_GE(outcome.done[i].at_ps - accesses[i].at_ps,
                  2 * hop_ps + static_cast<std::int64_t>(bytes) * 2000 + response_ps)
            << network << ' ' << bursts << ' ' << i;
      }
    }
  }
}

TEST(ChannelMemory, SplitsSmallAccessesIntoNoEmptyBursts) {
  // 17 bytes in 16 bursts of two bytes at most: 16 acknowledged parts, none empty.
  const Outcome outcome =
      run(row(2, "burst: 1 B, max_bursts: 16"), {{0, 1, 17, false, 0}, {0, 1, 0, false, 1}});
  EXPECT_EQ(outcome.done.size(), 2U);
  ASSERT_EQ(outcome.totals.size(), 1U);
  EXPECT_EQ(outcome.totals[0].read, 17U);
}

TEST(ChannelMemory, TilesOfOneChannelWaitForEachOther) {
  const Described machine = row(6, "burst: 1 TB, request: 0 B");
  for (std::uint32_t tiles = 1; tiles <= 5; ++tiles) {
    std::vector<Access> accesses;
    for (std::uint32_t tile = 1; tile <= tiles; ++tile) {
      accesses.push_back({0, tile, 3000, false, 0});
    }
    const Outcome outcome = run(machine, accesses);
    ASSERT_EQ(outcome.done.size(), tiles);
    // The nearest one's request comes first; the channel then works without a pause.
    for (std::int64_t place = 0; place < tiles; ++place) {
      EXPECT_EQ(outcome.done[static_cast<std::size_t>(place)].at_ps,
                hop_ps + (place + 1) * 6'000'000 + response_ps + (place + 1) * hop_ps + 3'000'000);
    }
    ASSERT_EQ(outcome.totals.size(), 1U);
    EXPECT_EQ(outcome.totals[0].read, 3000U * tiles);
    EXPECT_EQ(outcome.totals[0].busy_ps, tiles * 6'000'000);
    EXPECT_EQ(outcome.totals[0].wait_ps,
              (tiles - 1) * 6'000'000 - static_cast<std::int64_t>(tiles - 1) * hop_ps);
  }
}

std::vector<Access> random_accesses(std::uint32_t tiles) {
  RandomStream random(4, EntityId(0), 0);
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 200; ++i) {
    accesses.push_back({static_cast<std::int64_t>(random.next_below(200)) * 10'000,
                        static_cast<std::uint32_t>(random.next_below(tiles)),
                        random.next_below(5000), random.next_below(2) == 0, i});
  }
  return accesses;
}

const std::string edges =
    "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 3 GB/s, latency: 2 ns}\n"
    "dram: {at: edge, edges: [west, east], bandwidth: 1.1 GB/s, latency: 50 ns}\n"
    "memory: {model: channel, burst: 500 B}\n";

TEST(ChannelMemory, CountsEveryByteOnceAndBinsAddUp) {
  const std::vector<Access> accesses = random_accesses(16);
  const Outcome outcome = run(described(edges), accesses, 1, 300'000);
  EXPECT_EQ(outcome.done.size(), accesses.size());
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (const Access& access : accesses) {
    (access.write ? written : read) += access.bytes;
  }
  std::map<std::uint32_t, Use> sums;
  for (const Use& bin : outcome.bins) {
    Use& sum = sums[bin.channel];
    sum.read += bin.read;
    sum.written += bin.written;
    sum.busy_ps += bin.busy_ps;
    sum.wait_ps = std::max(sum.wait_ps, bin.wait_ps);
    EXPECT_LE(bin.busy_ps, bin.end_ps - bin.begin_ps);
    // 1.1 GB/s; part of a byte is carried to another bin.
    EXPECT_LE(static_cast<double>(bin.read + bin.written),
              1.1e-3 * static_cast<double>(bin.busy_ps) + 2);
  }
  for (const Use& total : outcome.totals) {
    read -= total.read;
    written -= total.written;
    EXPECT_LE(total.busy_ps, total.end_ps);
    const Use& sum = sums[total.channel];
    EXPECT_EQ(sum.read, total.read);
    EXPECT_EQ(sum.written, total.written);
    EXPECT_EQ(sum.busy_ps, total.busy_ps);
    EXPECT_EQ(sum.wait_ps, total.wait_ps);
  }
  EXPECT_EQ(outcome.totals.size(), 8U);
  EXPECT_EQ(read, 0U);
  EXPECT_EQ(written, 0U);
}

TEST(ChannelMemory, IsTheSameOnAnyNumberOfRanks) {
  const Described machine = described(edges);
  const std::vector<Access> accesses = random_accesses(16);
  const Outcome expected = run(machine, accesses, 1, 300'000);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const Outcome outcome = run(machine, accesses, ranks, 300'000);
    EXPECT_EQ(outcome.done, expected.done) << ranks;
    EXPECT_EQ(outcome.totals, expected.totals) << ranks;
    EXPECT_EQ(outcome.bins, expected.bins) << ranks;
  }
}

}  // namespace
}  // namespace tessera::memory::channel_test
