// Coherent accesses to memory nodes in motion: times by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "files.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::coherence_run_test {
namespace {

// XPUs and one memory of nobody around a switch: every link has 64 B in a ns and 100 ns, a way 200.
testing::Files experiment(const std::string& coherence, const std::string& xpus,
                          const std::string& more = "") {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology:\n"
           "    kind: graph\n"
           "    nodes: {xpu: {count: " +
               xpus +
               "}, memory: {kind: memory, capacity: unlimited}, hub: {kind: switch}}\n"
               "    links:\n"
               "      - {from: xpu, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
               "      - {from: memory, to: hub, bandwidth: 64 GB/s, latency: 100 ns}\n"
               "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
               "  network: {model: analytical}\n" +
               (coherence.empty() ? "" : "  coherence: {" + coherence + "}\n") + more +
               "workload:\n"
               "  kind: graph\n"
               "  vertices: [{name: load, start: true, at: 0, bytes: 1 GB, remote: 6400 B}]\n"
               "run: {trace: none}\n"}};
}

trace::Summary summary_of(const testing::Files& files,
                          const std::vector<std::string>& overrides = {}) {
  const Experiment experiment = testing::read(files, overrides);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {});
}

trace::Summary loaded(const std::string& coherence, const std::string& remote = "6400 B",
                      const std::string& more = "") {
  testing::Files files = experiment(coherence, "4", more);
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("6400 B"), 6, remote);
  return summary_of(files);
}

std::int64_t ns(const trace::Summary& summary) {
  return summary.simulated_time_ps / 1000;
}

TEST(CoherentRun, SaysWhichKeysHaveNoEffect) {
  const auto is_noted = [](const std::string& coherence, const std::string& remote,
                           const std::string& key) {
    const trace::Summary summary = loaded(coherence, remote);
    return std::ranges::any_of(summary.notes, [&](const std::string& note) {
      return note.starts_with("machine.coherence." + key + " has no effect: ");
    });
  };
  const std::string stored = "6400 B, remote_written: 6400 B";
  EXPECT_TRUE(is_noted("headers: 2", "6400 B", "headers"));
  EXPECT_FALSE(is_noted("headers: 2, flit: 68 B", "6400 B", "headers"));
  EXPECT_TRUE(is_noted("reads: 0.5", stored, "reads"));
  EXPECT_FALSE(is_noted("reads: 0.5", "6400 B", "reads"));
  EXPECT_EQ(loaded("reads: 0.5", stored).result_digest, loaded("line: 64 B", stored).result_digest);
}

TEST(CoherentRun, TheDeviceAndWholeLines) {
  EXPECT_EQ(ns(loaded("")), 201 + 200 + 100);
  EXPECT_EQ(ns(loaded("line: 64 B")), 201 + 200 + 100);
  EXPECT_EQ(ns(loaded("device_latency: 50 ns")), 201 + 50 + 200 + 100);
  EXPECT_EQ(ns(loaded("used_of_line: 0.5")), 201 + 200 + 200);
  EXPECT_EQ(ns(loaded("hit_rate: 0.5")), 201 + 200 + 50);
  EXPECT_EQ(ns(loaded("hit_rate: 1")), 0);
}

// Little's law: 100 lines, 10 in a round trip of 201 + 50 + 201 ns.
TEST(CoherentRun, OutstandingLinesLimitTheRate) {
  const auto time =
      static_cast<double>(loaded("device_latency: 50 ns, outstanding: 10").simulated_time_ps);
  EXPECT_NEAR(time, 451e3 + 9 * 452e3, 1e-5 * time);
  // As many as are under way at once.
  EXPECT_EQ(ns(loaded("device_latency: 50 ns, outstanding: 100")), 201 + 50 + 300);
}

// Little's law holds for the accelerator, whatever its accesses are: 200 lines, 10 at a time.
TEST(CoherentRun, AccessesShareTheOutstandingLines) {
  testing::Files files = experiment("device_latency: 50 ns, outstanding: 10", "4",
                                    "execution: {lanes: {memory: 0}}\n");
  std::string& text = files.at("lab/experiment.yaml");
  text.insert(text.find("{name: load"),
              "{name: other, start: true, at: 0, bytes: 1 GB, remote: 6400 B}, ");
  const auto time = static_cast<double>(summary_of(files).simulated_time_ps);
  EXPECT_NEAR(time, 20 * 452e3, 1e-3 * time);
  text.replace(text.find("at: 0"), 5, "at: 1");  // another one has its own
  EXPECT_NEAR(static_cast<double>(summary_of(files).simulated_time_ps), time / 2, 1e-2 * time);
}

// Ten of ten million: what they take is beside the others, not behind them.
TEST(CoherentRun, AFewDirtyLinesAreFew) {
  const std::string outstanding = "device_latency: 50 ns, outstanding: 64";
  const auto clean = static_cast<double>(loaded(outstanding, "640 MB").simulated_time_ps);
  const auto dirty =
      static_cast<double>(loaded(outstanding + ", dirty: 0.000001", "640 MB").simulated_time_ps);
  EXPECT_NEAR(dirty, clean, 1e-3 * clean);
}

// 100 slots of requests are 25 flits, of which one opens the access; data and headers 125 flits.
TEST(CoherentRun, FlitsOfRequestsGoBesideData) {
  const trace::Summary reads = loaded("flit: 68 B");
  EXPECT_EQ(reads.simulated_time_ps, 200'000 + 1063 + 200'000 + 124 * 68'000 / 64);
  EXPECT_EQ(reads.messages, 4U);
  // All written: the data goes at once, and its completion comes back.
  const trace::Summary writes = loaded("flit: 68 B, reads: 0");
  EXPECT_EQ(writes.simulated_time_ps, 200'000 + 124 * 68'000 / 64 + 200'000 + 1063);
}

// The trip to an owner and back is 402 ns.
TEST(CoherentRun, DirtyLinesComeFromTheirOwner) {
  const trace::Summary dirty = loaded("dirty: 1", "64 B");
  EXPECT_EQ(ns(dirty), 201 + 402 + 201);
  EXPECT_EQ(dirty.messages, 5U);
  const trace::Summary half = loaded("dirty: 0.5", "64 B");
  EXPECT_EQ(ns(half), 201 + 201 + 201);
  EXPECT_EQ(half.messages, 2U);  // less than one message to an owner
  // The data of all comes from the owner, and then goes on: its last line ends the access.
  const trace::Summary many = loaded("dirty: 1");
  EXPECT_EQ(ns(many), 201 + 201 + 200 + 100 + 201);
}

// 100 ns of data each way at the device, one beside the other; a message of an owner more.
TEST(CoherentRun, OwnersSendBesideWhatIsWritten) {
  const trace::Summary written = loaded("reads: 0, dirty: 1");
  EXPECT_EQ(ns(written), 201 + 201 + 300 + 201);
  EXPECT_EQ(written.messages, 2U + 2 + 3);
}

// Three owners: a message and an answer of each, and a completion.
TEST(CoherentRun, WritesInvalidateSharers) {
  const trace::Summary written = loaded("reads: 0, sharers: 3", "64 B");
  EXPECT_EQ(written.messages, 2U + 3 * 3);
  EXPECT_EQ(ns(written), 201 + 402 + 201);
  EXPECT_EQ(loaded("sharers: 3", "64 B").messages, 2U);
}

// 3200 B are in local memory: 100 ns and 3200 ns of it.
TEST(CoherentRun, HitsTakeTheTimeOfLocalMemory) {
  const std::string dram = "  dram: {at: each, bandwidth: 1 GB/s, latency: 100 ns}\n";
  const std::int64_t time = ns(loaded("hit_rate: 0.5", "6400 B", dram));
  EXPECT_EQ(time, 100 + 3200);
}

TEST(CoherentRun, TwoShareTheLinkOfADevice) {
  for (const std::string owners : {"", ", of: xpu"}) {
    testing::Files files = experiment("device_latency: 50 ns", "2");
    std::string& text = files.at("lab/experiment.yaml");
    text.replace(text.find("6400 B"), 6, "64 MB");
    text.replace(text.find("analytical"), 10, "flow");
    text.insert(text.find(", capacity"), owners);
    const std::int64_t alone = summary_of(files).simulated_time_ps;
    text.replace(text.find("at: 0"), 5, "at: 0-1");
    const std::int64_t together = summary_of(files).simulated_time_ps;
    EXPECT_EQ(alone, 451'000 + 1'000'000'000);
    // 64 B of both requests are on the device's link at once, 2 ns.
    EXPECT_EQ(together, 452'000 + 2'000'000'000);
  }
}

TEST(CoherentRun, IsTheSameOnAnyNumberOfRanks) {
  const Experiment experiment_read = testing::read(
      experiment("flit: 256 B, outstanding: 8, reads: 0.7, sharers: 1.5, dirty: 0.1", "4"));
  const auto communicator = comm::make_in_process();
  const trace::Summary expected = run(experiment_read, *communicator, {});
  EXPECT_EQ(expected.status, "finished");
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& own) {
      EXPECT_EQ(run(experiment_read, own, {}).result_digest, expected.result_digest) << ranks;
    });
  }
}

// Stopped while messages of an access flow at their limits, and others are still to come.
TEST(CoherentRun, GoesOnFromACheckpoint) {
  testing::Files files =
      experiment("flit: 68 B, outstanding: 64, reads: 0.7, sharers: 1.5, dirty: 0.1", "4");
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("6400 B"), 6, "640 MB");
  text.replace(text.find("analytical"), 10, "flow");
  testing::expect_goes_on(testing::read(files), "tessera_coherence_checkpoint");
}

TEST(CoherentRun, Complaints) {
  EXPECT_NE(
      testing::complaint_of(experiment("outstanding: 4", "2"), {"machine.network.model=packet"})
          .find("machine.coherence.outstanding: this network cannot"),
      std::string::npos);
  EXPECT_NE(testing::complaint_of(experiment("sharers: 2", "2")).find("1 other NPUs"),
            std::string::npos);
  EXPECT_EQ(testing::complaint_of(experiment("sharers: 1", "2")), "");
}

}  // namespace
}  // namespace tessera::sim::coherence_run_test
