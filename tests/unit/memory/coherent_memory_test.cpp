// Coherent accesses to devices with channels: times by hand, and what channels have done.
#include "tessera/memory/coherent/coherent_memory.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/memory/dram/drive.hpp"

namespace tessera::memory::testing::coherent_memory_test {
namespace {

// Tiles and a memory around a switch: every link has 64 B in a ns and 100 ns, a way 200.
std::string lab(const std::string& memory, const std::string& coherence, int tiles = 1,
                const std::string& network = "analytical", int memories = 1) {
  return "topology:\n"
         "  kind: graph\n"
         "  nodes: {tile: {count: " +
         std::to_string(tiles) + "}, ram: {kind: memory, count: " + std::to_string(memories) +
         ", capacity: unlimited}, hub: {kind: switch}}\n"
         "  links:\n"
         "    - {from: tile, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
         "    - {from: ram, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
         "dram: {at: memories, bandwidth: 32 GB/s, latency: 30 ns}\n"
         "network: {model: " +
         network + "}\nmemory: {" + memory + "}\ncoherence: {" + coherence + "}\n";
}

// One channel of one bank that is never refreshed: 1 GHz, and 64 B in two cycles. tRCD and tCL are
// 14 cycles, and a command goes a cycle after its burst has come.
const std::string one_bank =
    "model: dram, preset: HBM2, refresh: false, channels: 1, groups: 1, banks: 1, row_bursts: 128, "
    "rows: 16384, commands: 1";

std::int64_t ns_of(const Outcome& outcome) {
  std::int64_t last = 0;
  for (const Done& done : outcome.done) {
    last = std::max(last, done.at_ps);
  }
  return last / 1000;
}

Access load(std::uint64_t bytes, std::uint32_t tile = 0, std::uint16_t tag = 1) {
  return {0, tile, bytes, false, tag};
}
Access store(std::uint64_t bytes, std::uint32_t tile = 0, std::uint16_t tag = 1) {
  return {0, tile, bytes, true, tag};
}

constexpr std::int64_t way = 201;  // of 64 B
constexpr std::int64_t first_burst = 1 + 14 + 14 + 2;
constexpr std::int64_t row_hit = first_burst - 14;

TEST(CoherentMemory, OneLineTakesItsWayAndItsChannel) {
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "line: 64 B")), {load(64)})),
            way + first_burst + way);
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "device_latency: 50 ns")), {load(64)})),
            way + 50 + first_burst + way);
  for (const std::string model : {"channel", "bandwidth"}) {
    const Described machine = described(lab("model: " + model, "device_latency: 50 ns"));
    EXPECT_EQ(ns_of(run(machine, {load(64)})), way + 50 + (2 + 30) + way) << model;
    EXPECT_EQ(ns_of(run(machine, {store(64)})), way + 50 + (2 + 30) + way) << model;
  }
}

// One line at a time: all but the first find their row open.
TEST(CoherentMemory, ManyLinesOneAfterTheOther) {
  const Outcome outcome =
      run(described(lab(one_bank, "outstanding: 1, device_latency: 50 ns")), {load(6400)});
  EXPECT_EQ(ns_of(outcome), (way + 50 + first_burst + way) + 99 * (way + 50 + row_hit + way));
  ASSERT_EQ(outcome.totals.size(), 1U);
  EXPECT_EQ(outcome.totals[0].read, 6400U);
  EXPECT_EQ(outcome.totals[0].hits, 99U);
}

// All at once: the bursts follow one another, and 64 lines go back together, then 36.
TEST(CoherentMemory, ManyLinesAtOnce) {
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "line: 64 B")), {load(6400)})),
            way + first_burst + 99 * 2 + 200 + 36);
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "piece: 64 KiB")), {load(6400)})),
            way + first_burst + 99 * 2 + 200 + 100);
}

// `bandwidth` has its rate for an accelerator, whatever the pieces are.
TEST(CoherentMemory, PiecesAreNoFasterThanTheChannel) {
  for (const std::string piece : {"64 KiB", "640 B"}) {
    const std::int64_t last = piece == "640 B" ? 10 : 100;
    for (const std::string model : {"bandwidth", "channel"}) {
      const Described machine = described(lab("model: " + model, "piece: " + piece, 2));
      EXPECT_EQ(ns_of(run(machine, {load(6400)})), way + 200 + 30 + 200 + last) << model << piece;
      const std::int64_t both = model == "channel" ? 400 : 200;
      EXPECT_EQ(ns_of(run(machine, {load(6400), load(6400, 1)})), way + both + 30 + 200 + last)
          << model << piece;
    }
  }
}

// The round trip under load counts, in any network: lines of both in the queue of one bank.
TEST(CoherentMemory, OutstandingLinesHoldInEveryNetwork) {
  for (const std::string network : {"analytical", "flow", "packet"}) {
    const Described machine = described(lab("model: channel", "outstanding: 10", 1, network));
    const std::int64_t round_trip = way + 2 + 30 + way;
    const auto time = static_cast<double>(ns_of(run(machine, {load(640'000)})));
    // Ten lines leave one after the other: where links are shared they keep this distance.
    EXPECT_NEAR(time, 1000.0 * round_trip, 0.05 * 1000 * round_trip) << network;
  }
}

// Rows of two regions, each bursts of its own, over a link that carries twice as much.
TEST(CoherentMemory, TwoContendForOneChannel) {
  const std::string memory = "model: dram, preset: HBM2, channels: 1";
  const auto time_of = [&](const std::vector<Access>& accesses) {
    return static_cast<double>(
        ns_of(run(described(lab(memory, "outstanding: 4096", 2, "flow")), accesses)));
  };
  const double alone = time_of({load(1 << 20)});
  const double together = time_of({load(1 << 20), load(1 << 20, 1)});
  const double at_peak = (1 << 20) / 32.0;
  EXPECT_GT(alone, at_peak);
  EXPECT_LT(alone, 1.25 * at_peak);
  EXPECT_GT(together, 2 * at_peak);
  EXPECT_LT(together, 2.4 * at_peak);
  // A memory of its own for each: as alone.
  const Described two = described(lab(memory, "outstanding: 4096", 2, "flow", 2));
  EXPECT_NEAR(static_cast<double>(ns_of(run(two, {load(1 << 20), load(1 << 20, 1)}))), alone,
              0.05 * alone);
}

// A stream is as fast as the device driven alone.
TEST(CoherentMemory, AStreamHasTheDevicesUtilization) {
  for (const std::string preset : {"DDR4", "DDR5"}) {
    const Described machine =
        described(lab("model: dram, preset: " + preset, "outstanding: 4096", 1, "flow"));
    constexpr std::uint64_t bytes = 4 << 20;
    const Outcome outcome = run(machine, {load(bytes)});
    const DramSpec spec = dram_presets().at(preset)();
    DramDrive drive;
    drive.requests = bytes / 64;
    const double alone = drive_dram(spec, drive).utilization(spec) *
                         static_cast<double>(spec.peak().bytes_per_second());
    const double rate = static_cast<double>(bytes) * 1e9 / static_cast<double>(ns_of(outcome));
    EXPECT_NEAR(rate, alone, 0.04 * alone) << preset;
    EXPECT_LT(rate, static_cast<double>(spec.peak().bytes_per_second()));
  }
}

// The trip to an owner and back is two ways; its data goes on, and is written behind.
TEST(CoherentMemory, DirtyLinesComeFromTheirOwner) {
  const Outcome dirty = run(described(lab(one_bank, "dirty: 1", 2)), {load(64)});
  EXPECT_EQ(ns_of(dirty), way + 2 * way + way);
  ASSERT_EQ(dirty.totals.size(), 1U);
  EXPECT_EQ(dirty.totals[0].read, 0U);
  EXPECT_EQ(dirty.totals[0].written, 64U);
  // Every second one.
  Outcome half = run(described(lab(one_bank, "dirty: 0.5, outstanding: 1", 2)), {load(256)});
  EXPECT_EQ(ns_of(half), 2 * (4 * way) + (2 * way + first_burst) + (2 * way + row_hit));
  EXPECT_EQ(half.totals.at(0).read, 128U);
  EXPECT_EQ(half.totals.at(0).written, 128U);
  // What is written anyway is not written back.
  const Outcome stored = run(described(lab("model: channel", "dirty: 1", 2)), {store(64)});
  EXPECT_EQ(ns_of(stored), way + 2 * way + (2 + 30) + way);
  EXPECT_EQ(stored.totals.at(0).written, 64U);
}

TEST(CoherentMemory, WritesInvalidateSharersFirst) {
  const Described machine = described(lab("model: channel", "sharers: 3", 4));
  EXPECT_EQ(ns_of(run(machine, {store(64)})), way + 2 * way + (2 + 30) + way);
  EXPECT_EQ(ns_of(run(machine, {load(64)})), way + (2 + 30) + way);
}

// Two lanes at once: what is read and what is written use the channel one after the other.
TEST(CoherentMemory, LoadsThatWriteMoveBoth) {
  const Outcome outcome =
      run(described(lab("model: channel", "reads: 0.7, flit: 68 B", 1)), {load(6400)});
  ASSERT_EQ(outcome.totals.size(), 1U);
  EXPECT_EQ(outcome.totals[0].read, 70U * 64);
  EXPECT_EQ(outcome.totals[0].written, 30U * 64);
  EXPECT_EQ(outcome.done.size(), 1U);
}

TEST(CoherentMemory, NothingIsOverAtOnce) {
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "hit_rate: 1")), {load(6400)})), 0);
  EXPECT_EQ(ns_of(run(described(lab(one_bank, "line: 64 B")), {load(0)})), 0);
}

TEST(CoherentMemory, IsTheSameOnAnyNumberOfRanks) {
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 60; ++i) {
    accesses.push_back({i % 7 * 300'000, i % 4U, 100U + i * 997U, i % 3 == 0, i});
  }
  for (const std::string memory :
       {"model: bandwidth", "model: channel", "model: dram, preset: DDR4"}) {
    const Described machine = described(lab(
        memory,
        "outstanding: 100, device_latency: 20 ns, flit: 256 B, reads: 0.7, sharers: 1.3, dirty: "
        "0.1, filter_miss: 0.05, hit_rate: 0.2",
        4, "flow", 2));
    const Outcome expected = run(machine, accesses, 1, 500'000);
    EXPECT_EQ(expected.done.size(), accesses.size()) << memory;
    for (int ranks = 2; ranks <= 4; ++ranks) {
      const Outcome outcome = run(machine, accesses, ranks, 500'000);
      EXPECT_EQ(outcome.done, expected.done) << memory << ranks;
      EXPECT_EQ(outcome.totals, expected.totals) << memory << ranks;
      EXPECT_EQ(outcome.bins, expected.bins) << memory << ranks;
    }
  }
}

}  // namespace
}  // namespace tessera::memory::testing::coherent_memory_test
