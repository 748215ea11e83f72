#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"
#include "tessera/memory/dram/address.hpp"

namespace tessera::memory::testing::dram_memory_test {
namespace {

// A tile beside its memory: bandwidth of the network is no limit.
std::string pair(const std::string& memory) {
  return "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 TB/s, latency: 1 ns}\n"
         "dram: {at: nodes, nodes: [1], bandwidth: 1 GB/s, latency: 0 ns}\n"
         "network: {model: analytical}\n"
         "memory: {model: dram, request: 0 B, " +
         memory + "}\n";
}

std::int64_t time_of(const std::string& memory, const Access& access) {
  return run(described(pair(memory)), {access}).done.at(0).at_ps;
}

// There and back 1 ns each, the cycle of submission, tRCD, tCL and the burst; 64 B take 64 ps.
TEST(DramMemory, OneBurstTakesItsCommands) {
  const std::string preset = "preset: HBM2, refresh: false";
  EXPECT_EQ(time_of(preset, {0, 0, 64, false, 1, Address(0)}), 1000 + 31'000 + 1000 + 64);
  // A part of a burst takes as long; two bursts, one more slot of the bus.
  EXPECT_EQ(time_of(preset, {0, 0, 1, false, 1, Address(63)}), 1000 + 31'000 + 1000 + 1);
  EXPECT_EQ(time_of(preset, {0, 0, 2, false, 1, Address(63)}), 1000 + 33'000 + 1000 + 2);
  EXPECT_EQ(time_of(preset + ", latency: 5 ns", {0, 0, 64, false, 1, Address(0)}),
            1000 + 36'000 + 1000 + 64);
}

TEST(DramMemory, AQueueOfOneGoesOn) {
  for (const std::string scheduler : {"oldest-ready", "bank-queues"}) {
    const Described machine =
        described(pair("preset: HBM2, channels: 1, read_queue: 1, scheduler: " + scheduler));
    EXPECT_EQ(run(machine, {{0, 0, 4096, false, 1, Address(0)}}).done.size(), 1U) << scheduler;
  }
}

TEST(DramMemory, StreamsAtTheDevicesRate) {
  const Described machine = described(pair("preset: HBM2, window: 1 MB"));
  const Outcome outcome = run(machine, {{0, 0, 4 << 20, false, 1, Address(0)}});
  const double seconds = static_cast<double>(outcome.done.at(0).at_ps) * 1e-12;
  const double rate = static_cast<double>(4 << 20) / seconds;
  EXPECT_GT(rate, 0.85 * 256e9);
  EXPECT_LT(rate, 256e9);
  ASSERT_EQ(outcome.totals.size(), 1U);
  EXPECT_EQ(outcome.totals[0].read, 4U << 20);
  EXPECT_GT(outcome.totals[0].hits, 60'000U);
}

// Rows of one bank one after the other take their row cycles; the same bytes in one row do not.
TEST(DramMemory, AddressesMatter) {
  const Described machine = described(pair("preset: DDR4, refresh: false"));
  std::vector<Access> near;
  std::vector<Access> far;
  const DramSpec spec = dram_presets().at("DDR4")();
  const DramAddressMap map(spec);
  for (std::uint16_t i = 0; i < 50; ++i) {
    near.push_back({0, 0, 64, false, i, Address(std::uint64_t{i} * 64)});
    far.push_back({0, 0, 64, false, i, Address(map.burst_at({0, 0, i, 0}) * 64)});
  }
  const Outcome hits = run(machine, near);
  const Outcome conflicts = run(machine, far);
  EXPECT_EQ(hits.totals.at(0).hits, 49U);
  EXPECT_EQ(conflicts.totals.at(0).conflicts, 49U);
  const auto last = [](const Outcome& outcome) {
    return std::max_element(outcome.done.begin(), outcome.done.end(),
                            [](const Done& a, const Done& b) { return a.at_ps < b.at_ps; })
        ->at_ps;
  };
  EXPECT_GE(last(conflicts), 49 * 56 * 833);
  EXPECT_LT(last(hits), 49 * 7 * 834 + 60'000);
}

// Without addresses accesses follow one another: rows are hit.
TEST(DramMemory, AccessesWithoutAddressesFollowOneAnother) {
  const Described machine = described(pair("preset: DDR4, refresh: false"));
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 50; ++i) {
    accesses.push_back({i * 100'000, 0, 64, i % 2 == 0, i, Address::next()});
  }
  const Outcome outcome = run(machine, accesses);
  EXPECT_EQ(outcome.done.size(), 50U);
  EXPECT_EQ(outcome.totals.at(0).hits, 49U);
}

std::vector<Access> random_accesses(std::uint32_t tiles) {
  RandomStream random(11, EntityId(0), 0);
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 300; ++i) {
    Access access{static_cast<std::int64_t>(random.next_below(400)) * 10'000,
                  static_cast<std::uint32_t>(random.next_below(tiles)),
                  random.next_below(20'000),
                  random.next_below(2) == 0,
                  i,
                  {}};
    if (random.next_below(2) == 0) {
      access.address = Address(random.next_below(1 << 30));
    }
    accesses.push_back(access);
  }
  return accesses;
}

// Accesses of a kind without bytes, which ask for one each.
std::uint64_t empty(const std::vector<Access>& accesses, bool write) {
  return static_cast<std::uint64_t>(std::count_if(
      accesses.begin(), accesses.end(),
      [write](const Access& access) { return access.write == write && access.bytes == 0; }));
}

const std::string edges =
    "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 3 GB/s, latency: 2 ns}\n"
    "dram: {at: edge, edges: [west, east], bandwidth: 1.1 GB/s, latency: 50 ns}\n"
    "memory: {model: dram, preset: GDDR6, window: 8 KiB, transfer: 1 KiB";

TEST(DramMemory, CountsAreOfWholeBurstsAndBinsAddUp) {
  const std::vector<Access> accesses = random_accesses(16);
  const Outcome outcome = run(described(edges + "}\n"), accesses, 1, 300'000);
  EXPECT_EQ(outcome.done.size(), accesses.size());
  std::uint64_t wanted = 0;
  for (const Access& access : accesses) {
    wanted += access.bytes;
  }
  std::map<std::uint32_t, Use> sums;
  for (const Use& bin : outcome.bins) {
    Use& sum = sums[bin.channel];
    sum.read += bin.read;
    sum.written += bin.written;
    sum.hits += bin.hits;
    sum.conflicts += bin.conflicts;
  }
  expect_balanced(outcome, accesses, "edges");
  std::uint64_t moved = 0;
  for (const Use& total : outcome.totals) {
    EXPECT_EQ(sums[total.channel].read, total.read);
    EXPECT_EQ(sums[total.channel].written, total.written);
    EXPECT_EQ(sums[total.channel].hits, total.hits);
    EXPECT_EQ(sums[total.channel].conflicts, total.conflicts);
    EXPECT_LE(total.busy_ps, total.end_ps);
    moved += total.read + total.written;
  }
  EXPECT_GE(moved, wanted);
  EXPECT_LE(moved, wanted + 300 * 2 * 32);
}

// Data of a burst may cross the end of a bin, and answers come in bins without bursts.
TEST(DramMemory, BinsHaveAllWaitsAndNoMoreTimeThanTheyHave) {
  for (const std::int64_t bin_ps : {2'000, 9'000, 300'000}) {
    const Outcome outcome =
        run(described(edges + ", latency: 40 ns}\n"), random_accesses(16), 1, bin_ps);
    std::map<std::uint32_t, Use> sums;
    for (const Use& bin : outcome.bins) {
      EXPECT_LE(bin.busy_ps, bin.end_ps - bin.begin_ps) << bin_ps;
      Use& sum = sums[bin.channel];
      sum.busy_ps += bin.busy_ps;
      sum.wait_ps = std::max(sum.wait_ps, bin.wait_ps);
    }
    for (const Use& total : outcome.totals) {
      EXPECT_EQ(sums[total.channel].busy_ps, total.busy_ps) << bin_ps;
      EXPECT_EQ(sums[total.channel].wait_ps, total.wait_ps) << bin_ps;
    }
  }
}

TEST(DramMemory, IsTheSameOnAnyNumberOfRanks) {
  for (const char* keys :
       {", port: 4 GB/s}\n", ", spread: all}\n", ", spread: all, hash: ipoly}\n"}) {
    const Described machine = described(edges + keys);
    const std::vector<Access> accesses = random_accesses(16);
    const Outcome expected = run(machine, accesses, 1, 300'000);
    EXPECT_EQ(expected.done.size(), accesses.size());
    for (int ranks = 2; ranks <= 4; ++ranks) {
      const Outcome outcome = run(machine, accesses, ranks, 300'000);
      EXPECT_EQ(outcome.done, expected.done) << ranks;
      EXPECT_EQ(outcome.totals, expected.totals) << ranks;
      EXPECT_EQ(outcome.bins, expected.bins) << ranks;
      expect_balanced(outcome, accesses, keys + std::to_string(ranks));
    }
  }
}

// Accesses of no and of few bytes, many at the same places, so that queues answer some; writes wait
// at the end where nothing makes them go.
TEST(DramMemory, HoldsWhatIsAskedForAtEveryStep) {
  RandomStream random(13, EntityId(0), 0);
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 500; ++i) {
    accesses.push_back({static_cast<std::int64_t>(random.next_below(2000)) * 1000,
                        static_cast<std::uint32_t>(random.next_below(3)), random.next_below(200),
                        random.next_below(2) == 0, i, Address(random.next_below(1 << 12))});
  }
  accesses.push_back({0, 0, 0, false, 500, Address(0)});
  accesses.push_back({0, 1, 0, true, 501, Address(64)});
  for (const std::string scheduler : {"oldest-ready", "bank-queues"}) {
    for (const char* port : {"0 B/s", "8 GB/s"}) {
      const Described machine = described(
          "topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 60 GB/s, latency: 1 ns}\n"
          "dram: {at: nodes, nodes: [3], bandwidth: 1 GB/s, latency: 0 ns}\n"
          "memory: {model: dram, preset: HBM2, channels: 2, port: " +
          std::string(port) + ", scheduler: " + scheduler + "}\n");
      for (const int ranks : {1, 3}) {
        const Outcome outcome = run(machine, accesses, ranks);
        const std::string where = scheduler + ' ' + port;
        EXPECT_EQ(outcome.done.size(), accesses.size()) << where;
        expect_balanced(outcome, accesses, where);
        ASSERT_EQ(outcome.balances.size(), 4U);
        EXPECT_EQ(outcome.balances[0].out, outcome.asked.read + empty(accesses, false)) << where;
        EXPECT_EQ(outcome.balances[1].out, outcome.asked.written + empty(accesses, true)) << where;
        // Fewer were moved than taken.
        ASSERT_EQ(outcome.totals.size(), 1U);
        EXPECT_LT(outcome.totals[0].read, 64 * outcome.balances[2].out) << where;
      }
    }
  }
}

// Channels are simulated behind time: the end of every bin makes them catch up, here in each cycle.
TEST(DramMemory, IsTheSameCycleByCycle) {
  RandomStream random(12, EntityId(0), 0);
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 300; ++i) {
    // Near each other in time and place, so that reads meet writes that wait; at last small ones in
    // few rows, so that reads run out and writes follow them at once.
    const bool last = i >= 150;
    const std::int64_t at = last ? 9000 + (i - 150) * 20 : 0;
    const std::uint64_t within = last ? 150 : 4000;
    accesses.push_back({(at + static_cast<std::int64_t>(random.next_below(within))) * 1000,
                        static_cast<std::uint32_t>(random.next_below(3)),
                        random.next_below(last ? 200 : 6000), random.next_below(3) == 0, i,
                        Address(random.next_below(last ? 1 << 11 : 1 << 15))});
  }
  for (const std::string keys :
       {"preset: HBM2-PC, hash: ipoly, port: 16 GB/s", "preset: HBM2, write_high: 8, write_low: 2",
        "preset: DDR4, latency: 7 ns, port: 5 GB/s", "preset: LPDDR5, page: closed",
        "preset: HBM2, scheduler: bank-queues",
        "preset: DDR5, scheduler: bank-queues, port: 9 GB/s"}) {
    const Described machine = described(
        "topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 60 GB/s, latency: 1 ns}\n"
        "dram: {at: nodes, nodes: [3], bandwidth: 1 GB/s, latency: 0 ns}\n"
        "memory: {model: dram, transfer: 1 KiB, " +
        keys + "}\n");
    const Outcome expected = run(machine, accesses);
    EXPECT_EQ(expected.done.size(), accesses.size());
    for (const std::int64_t bin : {400, 3000, 100'000}) {
      const Outcome outcome = run(machine, accesses, 1, bin);
      EXPECT_EQ(outcome.done, expected.done) << keys << ' ' << bin;
      EXPECT_EQ(outcome.totals, expected.totals) << keys << ' ' << bin;
    }
  }
}

// A burst of 64 B at 1 GB/s takes its port 64 ns, far longer than the device does.
TEST(DramMemory, APortTakesOneBurstAtATimeFromEachInTurn) {
  const Described machine = described(
      "topology: {kind: mesh, rows: 1, columns: 3, bandwidth: 1 TB/s, latency: 1 ns}\n"
      "dram: {at: nodes, nodes: [1], bandwidth: 1 GB/s, latency: 0 ns}\n"
      "network: {model: analytical}\n"
      "memory: {model: dram, request: 0 B, preset: DDR4, refresh: false, port: 1 GB/s}\n");
  const Outcome one = run(machine, {{0, 0, 64 * 64, false, 1, Address(0)}});
  EXPECT_GE(one.done.at(0).at_ps, 63 * 64'000);
  EXPECT_LE(one.done.at(0).at_ps, 63 * 64'000 + 50'000);
  // What another asks for later does not wait for all of the first's.
  const Outcome two = run(
      machine, {{0, 0, 64 * 64, false, 1, Address(0)}, {10'000, 2, 64 * 4, false, 2, Address(0)}});
  ASSERT_EQ(two.done.size(), 2U);
  EXPECT_GE(two.done[0].at_ps, 67 * 64'000);  // of tile 0
  EXPECT_LE(two.done[1].at_ps, 10 * 64'000);
}

// A controller keeps few writes while reads come: more than there are numbers in 16 bits pass one.
TEST(DramMemory, KeepsAWriteApartFromAnyNumberOfLaterReads) {
  const Described machine = described(pair("preset: DDR4, refresh: false, window: 1 MB"));
  std::vector<Access> accesses;
  for (std::uint32_t i = 0; i < 70'000; ++i) {  // a little faster than the memory
    accesses.push_back({std::int64_t{i} * 3000, 0, 32, false,
                        static_cast<std::uint16_t>(i % 50'000), Address(std::uint64_t{i} * 64)});
  }
  constexpr std::uint16_t written = 60'000;
  accesses.push_back({3'000'000, 0, 64, true, written, Address(0)});
  const Outcome outcome = run(machine, accesses);
  ASSERT_EQ(outcome.done.size(), accesses.size());
  const auto of_write = std::find_if(outcome.done.begin(), outcome.done.end(),
                                     [&](const Done& done) { return done.tag == written; });
  ASSERT_NE(of_write, outcome.done.end());
  EXPECT_GT(of_write->at_ps, 69'000 * std::int64_t{3000});  // when the reads are through
}

// One tile's stream meets all memories alike when addresses are spread.
TEST(DramMemory, SpreadUsesAllMemories) {
  for (const char* hash : {"none", "ipoly"}) {
    const Outcome outcome = run(described(edges + ", spread: all, hash: " + hash + "}\n"),
                                {{0, 5, 1 << 20, false, 1, Address(0)}});
    ASSERT_EQ(outcome.totals.size(), 8U);
    for (const Use& use : outcome.totals) {
      EXPECT_EQ(use.read, (1U << 20) / 8) << hash;
    }
  }
}

}  // namespace
}  // namespace tessera::memory::testing::dram_memory_test
