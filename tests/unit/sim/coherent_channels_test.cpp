// Graphs whose coherent accesses go to memories with channels: whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::coherent_channels_test {
namespace {

// XPUs and memories around a switch: every link has 64 B in a ns and 100 ns, a way 200 ns.
testing::Files experiment(const std::string& memory, const std::string& coherence,
                          const std::string& remote = "64 B", const std::string& at = "0") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology:\n"
           "    kind: graph\n"
           "    nodes: {xpu: {count: 4}, ram: {count: 2, kind: memory, capacity: unlimited}, "
           "hub: {kind: switch}}\n"
           "    links:\n"
           "      - {from: xpu, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
           "      - {from: ram, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
           "  network: {model: analytical}\n" +
               memory + (coherence.empty() ? "" : "  coherence: {" + coherence + "}\n") +
               "workload:\n"
               "  kind: graph\n"
               "  vertices: [{name: load, start: true, at: " +
               at + ", bytes: 1 GB, remote: " + remote +
               "}]\n"
               "run: {trace: none}\n"}};
}

const std::string memories = "  dram: {at: memories, bandwidth: 32 GB/s, latency: 30 ns}\n";
const std::string of_each =
    "  dram: {at: each, bandwidth: 1 GB/s, latency: 100 ns, memories: {bandwidth: 32 GB/s, "
    "latency: "
    "30 ns}}\n";
const std::string hbm2 = "  memory: {model: dram, preset: HBM2, refresh: false}\n";

trace::Summary summary_of(const testing::Files& files,
                          const std::vector<std::string>& overrides = {}) {
  const Experiment experiment = testing::read(files, overrides);
  const auto communicator = comm::make_in_process();
  trace::Summary summary = run(experiment, *communicator, {});
  EXPECT_EQ(summary.status, "finished");
  return summary;
}
std::int64_t ns(const trace::Summary& summary) {
  return summary.simulated_time_ps / 1000;
}

// A request of 64 B, the channel, a line.
TEST(CoherentChannels, TheChannelServesALine) {
  EXPECT_EQ(ns(summary_of(experiment(memories, "line: 64 B"))), 201 + (2 + 30) + 201);
  EXPECT_EQ(ns(summary_of(experiment(memories + hbm2, "device_latency: 50 ns"))),
            201 + 50 + (1 + 14 + 14 + 2) + 201);
  EXPECT_EQ(ns(summary_of(experiment(of_each, "line: 64 B"))), 201 + (2 + 30) + 201);
}

// Without a channel there, the device has its latency alone, whatever DRAM the XPUs have.
TEST(CoherentChannels, DevicesWithoutAreAsBefore) {
  const std::string own = "  dram: {at: each, bandwidth: 1 GB/s, latency: 100 ns}\n";
  EXPECT_EQ(ns(summary_of(experiment(own, "device_latency: 50 ns"))), 201 + 50 + 201);
}

// What is said of the memories' channels is for nothing where they have none.
TEST(CoherentChannels, KeysWithoutEffectAreNoted) {
  const std::string own = "  dram: {at: each, bandwidth: 1 GB/s, latency: 100 ns}\n";
  const std::string devices = "  memory: {model: dram, preset: HBM2, memories: {preset: DDR5}}\n";
  const std::string bandwidth = "machine.dram.bandwidth is 1 GB/s, but the devices there";
  const std::string unused_bandwidth = "machine.dram.bandwidth has no effect";
  const std::string unused_latency = "machine.dram.latency has no effect";
  const auto notes = [](const std::string& memory, const std::string& coherence) {
    return summary_of(experiment(memory, coherence)).notes;
  };
  EXPECT_THAT(notes(own + devices, "piece: 8 KiB"),
              ::testing::UnorderedElementsAre(::testing::HasSubstr(unused_bandwidth),
                                              ::testing::HasSubstr(unused_latency),
                                              ::testing::HasSubstr("memory.memories has no effect"),
                                              ::testing::HasSubstr("coherence.piece has no effect"),
                                              ::testing::HasSubstr(bandwidth)));
  EXPECT_THAT(notes(of_each + devices, "piece: 8 KiB"),
              ::testing::ElementsAre(::testing::HasSubstr(unused_bandwidth),
                                     ::testing::HasSubstr(unused_latency),
                                     ::testing::HasSubstr(bandwidth)));
}

// 3200 B in local memory take 3300 ns, where there is any.
TEST(CoherentChannels, HitsAreOfLocalMemoryAlone) {
  EXPECT_EQ(ns(summary_of(experiment(of_each, "hit_rate: 0.5", "6400 B"))), 100 + 3200);
  EXPECT_EQ(ns(summary_of(experiment(memories, "hit_rate: 0.5", "6400 B"))),
            201 + (100 + 30) + 200 + 50);
  EXPECT_EQ(ns(summary_of(experiment(memories, "hit_rate: 1", "6400 B"))), 0);
}

// XPUs use memories in turn.
TEST(CoherentChannels, TwoShareAChannelOrDoNot) {
  const auto time_at = [](const std::string& places) {
    return ns(summary_of(experiment(memories, "line: 64 B", "640 kB", places),
                         {"machine.memory.burst=4 KiB", "machine.memory.max_bursts=1000"}));
  };
  const std::int64_t alone = time_at("0");
  EXPECT_EQ(time_at("0-1"), alone);
  EXPECT_EQ(time_at("[0, 2]"), alone + 20'000);
}

// Of a device of its own kind.
TEST(CoherentChannels, MemoriesHaveTheirOwnDevices) {
  const std::string ddr4 =
      "  memory: {model: dram, preset: HBM2, memories: {preset: DDR4, refresh: false}}\n";
  // The request comes at 201 ns, in cycle 242 (201.67 ns) of 833 ps: 1 + 17 + 17 + 4 cycles.
  const std::int64_t line = summary_of(experiment(of_each + ddr4, "line: 64 B")).simulated_time_ps;
  EXPECT_NEAR(static_cast<double>(line), (242 + 39) * 833.33 + 201'000, 840);
}

TEST(CoherentChannels, OutstandingLinesNeedNoLimitedMessages) {
  EXPECT_GT(ns(summary_of(experiment(memories, "outstanding: 10", "64 kB"),
                          {"machine.network.model=packet"})),
            100 * 400);
}

// A pipeline whose tensors are in the same DRAM, which its tile accesses without lines.
TEST(CoherentChannels, OthersUseTheSameChannel) {
  testing::Files files = experiment(memories + hbm2, "outstanding: 512");
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(
      text.find("workload:"), std::string::npos,
      "workload:\n"
      "  kind: tenants\n"
      "  tenants:\n"
      "    - {name: lines, tiles: [0], workload: {kind: graph, vertices: [{name: load, start: "
      "true, bytes: 1 MB, remote: 1 MB}]}}\n"
      "run: {trace: none}\n");
  text.replace(text.find("model: dram, preset: HBM2"), 25,
               "model: dram, preset: HBM2, channels: 1");
  text.replace(text.find("tile: {"), 7, "tile: {sram: 1 kB, ");
  const trace::Summary alone = summary_of(files);
  text.insert(
      text.find("run:"),
      "    - {name: layers, tiles: [2], workload: {kind: transformer, layers: 1, hidden: 256, "
      "heads: 4, sequence: 32, vocabulary: 100, batch: 2}, strategy: {pipeline: 1}}\n");
  const trace::Summary both = summary_of(files);
  ASSERT_EQ(both.tenants.size(), 2U);
  // 32 kB of lines under way beside 64 kB of tensors, by the first of two memories.
  EXPECT_GT(both.tenants[0].iteration_time_ps, alone.simulated_time_ps * 3 / 2);
}

const char* const all_of_it =
    "flit: 68 B, outstanding: 64, reads: 0.7, sharers: 1.5, dirty: 0.1, filter_miss: 0.05, "
    "hit_rate: 0.2, device_latency: 40 ns";

TEST(CoherentChannels, IsTheSameOnAnyNumberOfRanks) {
  for (const std::string& memory : {memories + hbm2, of_each + hbm2, memories}) {
    const Experiment read = testing::read(experiment(memory, all_of_it, "64 kB", "0-3"));
    const auto communicator = comm::make_in_process();
    const trace::Summary expected = run(read, *communicator, {});
    EXPECT_EQ(expected.status, "finished");
    for (int ranks = 2; ranks <= 4; ++ranks) {
      comm::run_ranks_as_threads(ranks, [&](comm::Communicator& own) {
        EXPECT_EQ(run(read, own, {}).result_digest, expected.result_digest) << ranks;
      });
    }
  }
}

// Stopped while lines are in queues, under way, and waited for.
TEST(CoherentChannels, GoesOnFromACheckpoint) {
  for (const std::string& memory : {memories + hbm2, memories + "  memory: {model: bandwidth}\n"}) {
    testing::Files files = experiment(memory, all_of_it, "6400 kB", "0-3");
    std::string& text = files.at("lab/experiment.yaml");
    text.replace(text.find("analytical"), 10, "flow");
    testing::expect_goes_on(testing::read(files), "tessera_coherent_channels");
  }
}

void expect_complaint(const testing::Files& files, const std::string& text) {
  EXPECT_NE(testing::complaint_of(files).find(text), std::string::npos)
      << testing::complaint_of(files);
}

TEST(CoherentChannels, Complaints) {
  expect_complaint(experiment(of_each, ""),
                   "machine.dram.memories: puts a channel at ram[0], which answers at once without "
                   "machine.coherence");
  const auto at_nodes = [](const std::string& nodes) {
    return "  dram: {at: nodes, nodes: [" + nodes + "], bandwidth: 1 GB/s, latency: 1 ns}\n";
  };
  expect_complaint(experiment(at_nodes("'xpu[0]', 'ram[0]'"), "line: 64 B"),
                   "machine.dram.at: puts a channel at ram[0], but none at ram[1]");
  expect_complaint(experiment(memories + "  memory: {model: dram, spread: all}\n", "line: 64 B"),
                   "machine.memory.spread: 'all' has one address space");
  EXPECT_EQ(testing::complaint_of(experiment(memories, "")), "");
  EXPECT_EQ(
      testing::complaint_of(experiment(at_nodes("'xpu[0]', 'ram[0]', 'ram[1]'"), "line: 64 B")),
      "");
}

}  // namespace
}  // namespace tessera::sim::coherent_channels_test
