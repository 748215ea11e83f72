#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::run_test {
namespace {

using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;

std::string fresh_folder(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("tessera_sim_" + name);
  std::filesystem::remove_all(folder);
  return folder.string();
}

trace::Summary run_one(const std::vector<std::string>& overrides, const std::string& folder = "",
                       const RunHooks& hooks = {}) {
  const Experiment experiment = read(small_experiment(), overrides);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {folder, hooks});
}

TEST(Run, ResultsDoNotDependOnTheTrace) {
  const trace::Summary expected = run_one({});
  EXPECT_EQ(expected.status, "finished");
  EXPECT_GT(expected.simulated_time_ps, 0);
  for (const std::string level : {"none", "summary", "full"}) {
    const std::string folder = fresh_folder(level);
    const trace::Summary summary = run_one({"run.trace=" + level}, folder);
    EXPECT_EQ(summary.result_digest, expected.result_digest) << level;
    EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps) << level;
    EXPECT_EQ(summary.events, expected.events) << level;
    EXPECT_TRUE(std::filesystem::exists(folder + "/summary.json")) << level;
    EXPECT_TRUE(std::filesystem::exists(folder + "/config.resolved.yaml")) << level;
    std::filesystem::remove_all(folder);
  }
}

TEST(Run, NamesThePolicyInUse) {
  EXPECT_EQ(run_one({}).synchronization, "promise");
  EXPECT_EQ(run_one({"run.synchronization=null-message"}).synchronization, "null-message");
  EXPECT_EQ(run_one({"machine.memory={model: channel, arbitration: fair}"}).synchronization,
            "window");
}

// Products in fp8 are held against the peak of fp8, all else against that of fp16. With fused
// attention, which multiplies more backward than its shape says, products of a shape take no less.
TEST(Run, AchievesNoMoreThanThePeakOfItsTypes) {
  for (const std::string compute :
       {"{model: roofline}", "{model: systolic, array: [8, 8]}", "{model: gemm, tiles: [16x8]}"}) {
    for (const std::string type : {"fp16", "fp8"}) {
      const trace::Summary summary =
          run_one({"machine.compute=" + compute, "machine.dram={at: none}",
                   "machine.tile={peak: {fp16: 1 TFLOP/s, fp8: 4 TFLOP/s}}",
                   "workload.attention=flash", "workload.hidden=64", "workload.sequence=512",
                   "strategy={pipeline: 1}", "workload.product_type=" + type});
      EXPECT_LE(summary.achieved_flops_per_s, summary.peak_flops_per_s) << compute << ", " << type;
      EXPECT_GE(summary.achieved_flops_per_s, 0.9 * summary.peak_flops_per_s) << compute;
      EXPECT_EQ(summary.peak_flops_per_s > 1e12, type == "fp8");
      EXPECT_LT(summary.peak_flops_per_s, 4e12);
    }
  }
}

// Of plans, as programs and as graphs, it is known what hosts issue.
TEST(Run, SaysWhereHostsHaveNoEffect) {
  const std::string hosts =
      "machine.compute={model: gemm, tiles: [16x16], issue: 5 us, issue_pass: 9 us}";
  const auto of_hosts = ::testing::Contains(HasSubstr("machine.compute.issue"));
  EXPECT_THAT(run_one({hosts}).notes, ::testing::Not(of_hosts));
  EXPECT_THAT(run_one({hosts, "execution={}"}).notes, ::testing::Not(of_hosts));
  testing::Files files = small_experiment();
  files["lab/experiment.yaml"] =
      "machine: parts/machine.yaml\nworkload:\n  kind: serving\n  tenants:\n"
      "    - language_model: {layers: 2, hidden: 32, heads: 4, vocabulary: 50, sequence: 64}\n"
      "      requests: {arrivals: closed, count: 1, prompt: 8, generate: 2}\n";
  const Experiment served =
      read(files, {hosts,
                   "machine.dram={at: each, bandwidth: 1 GB/s, latency: 1 ns, capacity: 1 "
                   "GB}",
                   "run.trace=none"});
  const auto communicator = comm::make_in_process();
  EXPECT_THAT(run(served, *communicator, {}).notes,
              ::testing::Contains(HasSubstr("issue_pass have no effect on served models")));
}

TEST(Run, ResultsDoNotDependOnTheNumberOfRanks) {
  const trace::Summary expected = run_one({});
  const Experiment experiment = read(small_experiment());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const trace::Summary summary = run(experiment, communicator, {});
      EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
      EXPECT_EQ(summary.simulated_time_ps, expected.simulated_time_ps) << ranks;
      EXPECT_EQ(summary.events, expected.events) << ranks;
      EXPECT_EQ(summary.messages, expected.messages) << ranks;
    });
  }
}

TEST(Run, TheDigestTellsDifferentResultsApart) {
  EXPECT_NE(run_one({}).result_digest, run_one({"machine.topology.latency=1001 ps"}).result_digest);
}

TEST(Run, TheBreakdownAddsUpToTheRun) {
  const trace::Summary summary = run_one({});
  ASSERT_EQ(summary.breakdown.size(), 3U);  // the total and two stages
  for (const trace::Breakdown& row : summary.breakdown) {
    std::uint64_t sum = 0;
    for (const auto& [activity, mean_ps] : row.mean_ps) {
      sum += mean_ps;
    }
    // Each mean is rounded down.
    EXPECT_LE(sum, static_cast<std::uint64_t>(summary.simulated_time_ps)) << row.name;
    EXPECT_GE(sum + row.mean_ps.size(), static_cast<std::uint64_t>(summary.simulated_time_ps));
  }
}

TEST(Run, AStopIsAnOutcome) {
  RunHooks hooks;
  hooks.stop_requested = [] { return true; };
  const trace::Summary summary = run_one({}, "", hooks);
  EXPECT_EQ(summary.status, "stopped");
}

TEST(Run, ADeadlockIsReportedOnEveryRankAndInTheSummary) {
  // Stage 0 never sends what stage 1 waits for.
  Experiment experiment = read(small_experiment());
  for (auto& code : experiment.only_job()->planned()->plan.stages[0].program.pieces) {
    std::erase_if(code, [](const plan::Instruction& instruction) {
      return instruction.action == plan::Action::send;
    });
  }
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const std::string folder = fresh_folder("deadlock");
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const trace::Summary summary = run(experiment, communicator, {folder, {}});
      EXPECT_EQ(summary.status, "deadlock");
      EXPECT_THAT(summary.message, ::testing::HasSubstr("8 parts of the work are not done"));
      EXPECT_THAT(
          summary.message,
          ::testing::HasSubstr("(stage 1, replica 0, shard 0) waits in 'receive activation' "
                               "of forward, micro-batch 0"));
    });
    EXPECT_EQ(trace::read_summary(folder + "/summary.json").status, "deadlock");
    std::filesystem::remove_all(folder);
  }
}

TEST(Forecast, GrowsWithTheMachineAndShrinksWithRanks) {
  std::size_t before = 0;
  for (const std::string rows : {"4", "400", "40000"}) {
    const Forecast one = forecast(read(small_experiment(), {"machine.topology.rows=" + rows}), 1);
    const Forecast four = forecast(
        read(small_experiment(), {"machine.topology.rows=" + rows, "run.partition=blocks"}), 4);
    EXPECT_GT(one.largest_bytes, before);
    if (rows == "40000") {  // several ranks need MPI's buffers besides
      EXPECT_LT(four.largest_bytes, one.largest_bytes);
    }
    EXPECT_EQ(four.partition.ranks, 4);
    EXPECT_EQ(four.links, one.links);
    EXPECT_EQ(four.instructions, one.instructions);
    before = one.largest_bytes;
  }
}

TEST(Forecast, CountsTheBinsOfATrace) {
  EXPECT_GT(forecast(read(small_experiment(), {"run.trace=full"}), 1).largest_bytes,
            forecast(read(small_experiment()), 1).largest_bytes);
}

// Percentiles of times between tokens need 8 MiB once there are a million.
TEST(Forecast, CountsTheTimesOfAService) {
  const auto predicted = [](const std::string& count) {
    return forecast(testing::read({{"lab/experiment.yaml",
                                    "machine:\n"
                                    "  topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 1 "
                                    "GB/s, latency: 1 ns}\n"
                                    "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                                    "  compute: {model: roofline}\n"
                                    "workload:\n"
                                    "  kind: serving\n"
                                    "  tenants:\n"
                                    "    - language_model: {layers: 1, hidden: 64, heads: 4, "
                                    "sequence: 512, vocabulary: 50}\n"
                                    "      requests: {arrivals: poisson, rate: 100, prompt: 8, "
                                    "generate: 400, count: " +
                                        count +
                                        "}\n"
                                        "run: {trace: none}\n"}}),
                    1)
        .largest_bytes;
  };
  EXPECT_GT(predicted("3000"), predicted("10") + (std::size_t{8} << 20U));
  // Times are counted then, and requests that are drawn take nothing.
  EXPECT_LT(predicted("4000000"), predicted("2000000") + (std::size_t{1} << 20U));
}

// Around a ring on a row of eight, the last one's messages go over seven links: all their packets
// are under way. To a neighbour only the last one is an event.
TEST(Forecast, CountsPacketsUnderWay) {
  const auto predicted = [](const std::string& packet) {
    return forecast(
               testing::read({{"lab/experiment.yaml",
                               "machine:\n"
                               "  topology: {kind: mesh, rows: 1, columns: 8, bandwidth: 1 GB/s, "
                               "latency: 1 ns}\n"
                               "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
                               "  network: {model: packet, max_packets: 4096, packet_size: " +
                                   packet +
                                   "}\n"
                                   "workload: {kind: collective, collective: all-gather, size: "
                                   "64 KiB}\n"
                                   "run: {trace: none}\n"}}),
               1)
        .largest_bytes;
  };
  EXPECT_EQ(predicted("64 B"),
            predicted("64 KiB") + std::size_t{64} * 64 + std::size_t{1023 - 64} * 192);
}

// Of the largest rank, on a row of eight, with `dram` of the machine if it is not empty.
std::size_t predicted_on_a_row(const std::string& bandwidth, const std::string& dram,
                               const std::string& batch, const std::string& strategy) {
  return forecast(testing::read(
                      {{"lab/experiment.yaml",
                        "machine:\n"
                        "  topology: {kind: mesh, rows: 1, columns: 8, bandwidth: " +
                            bandwidth +
                            ", latency: 1 ns}\n"
                            "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 KiB}\n" +
                            (dram.empty() ? "" : "  dram: " + dram + "\n") +
                            "  network: {model: packet, max_packets: 4096, packet_size: 64 B}\n"
                            "workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, "
                            "sequence: 32, batch: " +
                            batch +
                            ", vocabulary: 64}\n"
                            "strategy: {capacity: ignore, aggregation: none, " +
                            strategy +
                            "}\n"
                            "run: {trace: none}\n"}}),
                  1)
      .largest_bytes;
}

// Over seven links the 4 KiB of a micro-batch are 63 packets that are events. One is under way
// where links are quick, and no more than are in flight where they are not, of however many.
TEST(Forecast, CountsMicroBatchesInFlight) {
  const std::string far =
      "pipeline: 2, micro_batch: 1, placement: {layout: given, tiles: [[0], [7]]}";
  for (const std::string micro_batches : {"8", "64"}) {
    EXPECT_EQ(predicted_on_a_row("1 MB/s", "", micro_batches, far),
              predicted_on_a_row("1 TB/s", "", micro_batches, far) + std::size_t{63} * 64)
        << "two in flight";
  }
}

// Of a channel's largest access as much is under way as the channel's rate is part of the links';
// where links are slower than the channel, three quarters of each tile's.
TEST(Forecast, CountsAccessesToMemoryUnderWay) {
  const auto predicted = [](const std::string& link, const std::string& channel) {
    return static_cast<double>(predicted_on_a_row(
        link,
        "{at: edge, edges: [west], bandwidth: " + channel + ", latency: 1 ns, capacity: 1 GB}", "8",
        "pipeline: 1, placement: {layout: given, tiles: [[7]]}"));
  };
  const double none = predicted("1000 TB/s", "1 GB/s");
  const double all = predicted("1 GB/s", "1 GB/s") - none;
  EXPECT_GT(all, 1e6);
  EXPECT_NEAR(predicted("10 GB/s", "1 GB/s") - none, all / 10, 8);
  EXPECT_NEAR(predicted("1 GB/s", "8 GB/s") - none, all * 3 / 4, 8);
  EXPECT_NEAR(predicted("1 GB/s", "1 TB/s") - none, all * 3 / 4, 8);
}

// Small traffic is not a short time: with these, what the annealing alone found was up to 5.8 %
// slower than a layout by name.
TEST(Run, OptimizedPlacementsAreNoSlowerThanNamedOnes) {
  struct Case {
    std::string grid;
    std::string degrees;
  };
  for (const Case& one : {Case{"mesh, rows: 6, columns: 8, bandwidth: 50 GB/s, latency: 2 ns",
                               "2, tensor: 8, data: 2"},
                          Case{"mesh, rows: 4, columns: 8, bandwidth: 50 GB/s, latency: 2 ns",
                               "4, tensor: 8, data: 1"},
                          Case{"mesh, rows: 8, columns: 8, bandwidth: 10 GB/s, latency: 50 ns",
                               "2, tensor: 8, data: 2"}}) {
    const auto time = [&](const std::string& placement) {
      const Experiment experiment = testing::read(
          {{"lab/experiment.yaml",
            "machine:\n  topology: {kind: " + one.grid +
                "}\n  tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MiB}\n  dram: {at: none}\n"
                "workload: {kind: transformer, layers: 4, hidden: 128, heads: 8, sequence: 64, "
                "vocabulary: 128, batch: 8}\n"
                "strategy: {pipeline: " +
                one.degrees + ", placement: {" + placement + "}}\nrun: {trace: none}\n"}});
      const auto communicator = comm::make_in_process();
      return run(experiment, *communicator, {}).simulated_time_ps;
    };
    const std::int64_t optimized = time("layout: optimized, moves: 200000");
    for (const std::string name : {"line", "s-shape", "linear", "replicas"}) {
      EXPECT_LE(optimized, time("layout: " + name)) << one.grid << ", " << one.degrees << name;
    }
  }
}

// Beyond two million events, where estimates had them compared: what these took was up to 12 %
// slower than a layout by name. With 64 samples there is no time for whole runs with all of them,
// and a note says how they were put in order.
TEST(Run, OptimizedPlacementsOfLongIterationsAreNoSlowerThanNamedOnes) {
  const auto run_with = [](const std::string& keys, const std::string& batch,
                           const std::string& placement, const std::string& more = "") {
    const Experiment experiment = testing::read(
        {{"lab/experiment.yaml",
          "machine:\n  topology: {kind: mesh, rows: 8, columns: 8, bandwidth: 20 GB/s, latency: 20 "
          "ns}\n  tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 GiB}\n  dram: {at: none}\n"
          "  network: {model: packet, packet_size: 256 B}\n"
          "workload: {kind: transformer, layers: 16, hidden: 256, heads: 8, sequence: 128, "
          "vocabulary: 128, batch: " +
              batch +
              "}\nstrategy: {pipeline: 8, tensor: 4, data: 2, micro_batch: 1, zero: 3, "
              "overlap_gradients: true, schedule: " +
              keys + ", placement: {layout: " + placement + "}}\nrun: {trace: none}\n" + more}});
    const auto communicator = comm::make_in_process();
    return run(experiment, *communicator, {});
  };
  const auto says_how = [](const trace::Summary& summary) {
    return std::any_of(summary.notes.begin(), summary.notes.end(), [](const std::string& note) {
      return note.find("was compared with named layouts by whole runs of the") != std::string::npos;
    });
  };
  for (const auto& [schedule, batch] : {std::pair{"gpipe", "32"}, std::pair{"1f1b", "64"}}) {
    const trace::Summary optimized = run_with(schedule, batch, "optimized, moves: 200000");
    EXPECT_EQ(says_how(optimized), std::string(batch) == "64") << batch;
    const trace::Summary graphs = run_with(schedule, batch, "optimized, moves: 200000",
                                           "execution: {collectives: {communicators: flat}}\n");
    EXPECT_EQ(graphs.simulated_time_ps, optimized.simulated_time_ps) << "lies as its programs do";
    EXPECT_EQ(says_how(graphs), says_how(optimized)) << batch;
    for (const std::string name : {"line", "s-shape", "linear", "replicas"}) {
      EXPECT_LE(optimized.simulated_time_ps, run_with(schedule, batch, name).simulated_time_ps)
          << schedule << ", " << name;
    }
  }
}

}  // namespace
}  // namespace tessera::sim::run_test
