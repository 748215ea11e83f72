// A memory that goes on from a checkpoint serves what it served before, on any number of ranks.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/core/random.hpp"

namespace tessera::memory::resumed_test {
namespace {

using testing::Access;
using testing::Cut;
using testing::described;
using testing::Described;
using testing::Outcome;
using testing::run;

constexpr std::int64_t microsecond = 1'000'000;  // [ps]

// Half of them below `addresses`, if there are any.
std::vector<Access> random_accesses(const Described& machine, std::uint64_t addresses) {
  RandomStream random(23, EntityId(0), 0);
  const auto tiles = machine.machine.topology->computing_nodes();
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 60; ++i) {
    Access access{static_cast<std::int64_t>(random.next_below(400)) * 10'000,
                  static_cast<std::uint32_t>(random.next_below(tiles)),
                  random.next_below(6000),
                  random.next_below(2) == 0,
                  i,
                  Address::next()};
    if (addresses > 0 && random.next_below(2) == 0) {
      access.address = Address(random.next_below(addresses));
    }
    accesses.push_back(access);
  }
  return accesses;
}

void expect_same(const Outcome& outcome, const Outcome& expected, const std::string& where) {
  EXPECT_EQ(outcome.done, expected.done) << where;
  EXPECT_EQ(outcome.totals, expected.totals) << where;
  EXPECT_EQ(outcome.bins, expected.bins) << where;
  ASSERT_EQ(outcome.balances.size(), expected.balances.size()) << where;
  for (std::size_t i = 0; i < expected.balances.size(); ++i) {
    EXPECT_EQ(outcome.balances[i].out, expected.balances[i].out) << where;
    EXPECT_EQ(outcome.balances[i].in, expected.balances[i].in) << where;
  }
  EXPECT_EQ(outcome.asked.read, expected.asked.read) << where;
  EXPECT_EQ(outcome.asked.written, expected.asked.written) << where;
}

// Cut at several times, and gone on from on more ranks and on fewer.
void expect_goes_on(const std::string& text, std::uint64_t addresses = 0) {
  const Described machine = described(text);
  const std::vector<Access> accesses = random_accesses(machine, addresses);
  constexpr std::int64_t bin_ps = microsecond;
  const Outcome expected = run(machine, accesses, 1, bin_ps);
  EXPECT_EQ(expected.done.size(), accesses.size()) << text;
  for (const std::int64_t at : {microsecond / 2, 2 * microsecond, 7 * microsecond / 2}) {
    for (const auto& [before, after] : {std::pair(1, 3), std::pair(2, 1)}) {
      Cut cut{at, {}, {}};
      expect_same(run(machine, accesses, before, bin_ps, &cut), expected, text + ": cut");
      ASSERT_FALSE(cut.run.is_empty()) << text << " ends before " << at << " ps";
      expect_same(run(machine, accesses, after, bin_ps, nullptr, &cut), expected,
                  text + ": " + std::to_string(at) + " ps, " + std::to_string(before) + " to " +
                      std::to_string(after) + " ranks");
    }
  }
}

std::string grid(const std::string& memory, const std::string& dram = "") {
  return "topology: {kind: mesh, rows: 3, columns: 4, bandwidth: 3 GB/s, latency: 2 ns}\n"
         "dram: {at: edge, edges: [west, east], bandwidth: 1.1 GB/s, latency: 50 ns" +
         dram + "}\nmemory: {" + memory + "}\n";
}

TEST(ResumedMemories, OfChannels) {
  expect_goes_on(grid("model: channel, burst: 500 B"));
  expect_goes_on(grid("model: channel, burst: 500 B, arbitration: fair"));
  expect_goes_on(grid("model: channel"));
}

TEST(ResumedMemories, OfBandwidth) {
  expect_goes_on(grid("model: bandwidth"));
}

TEST(ResumedMemories, OfBanks) {
  constexpr std::uint64_t far = 1 << 28;
  expect_goes_on(grid("model: dram, preset: GDDR6, window: 8 KiB, transfer: 1 KiB"), far);
  expect_goes_on(grid("model: dram, preset: HBM2, scheduler: bank-queues, transfer: 512 B"), far);
  expect_goes_on(grid("model: dram, preset: DDR4, page: closed, spread: all"), far);
}

// Near each other and on few channels, so that queues answer, and what they answered is kept.
TEST(ResumedMemories, OfBanksWhoseQueuesAnswer) {
  for (const std::string scheduler : {"oldest-ready", "bank-queues"}) {
    const std::string text =
        grid("model: dram, preset: HBM2, channels: 1, spread: all, transfer: 1 KiB, scheduler: " +
             scheduler);
    constexpr std::uint64_t near = 1 << 13;
    expect_goes_on(text, near);
    const Described machine = described(text);
    const Outcome outcome = run(machine, random_accesses(machine, near));
    std::uint64_t read = 0;
    for (const testing::Use& use : outcome.totals) {
      read += use.read;
    }
    constexpr std::uint64_t burst = 64;
    EXPECT_LT(read, burst * outcome.balances.at(2).out) << scheduler;
  }
}

// Lines of memories behind a switch, some of them dirty elsewhere.
TEST(ResumedMemories, OfCoherentDevices) {
  for (const std::string memory : {"model: channel", "model: dram, preset: HBM2"}) {
    for (const std::string coherence :
         {"outstanding: 4", "dirty: 0.5, outstanding: 8", "reads: 0.7, flit: 68 B"}) {
      expect_goes_on(
          "topology:\n  kind: graph\n"
          "  nodes: {tile: {count: 3}, ram: {kind: memory, count: 2, capacity: unlimited}, hub: "
          "{kind: switch}}\n"
          "  links:\n"
          "    - {from: tile, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
          "    - {from: ram, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
          "dram: {at: memories, bandwidth: 32 GB/s, latency: 30 ns}\n"
          "memory: {" +
          memory + "}\ncoherence: {" + coherence + "}\n");
    }
  }
}

}  // namespace
}  // namespace tessera::memory::resumed_test
