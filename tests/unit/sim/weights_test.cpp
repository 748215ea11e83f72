#include "tessera/sim/cuts/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "files.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::weights_test {
namespace {

using ::testing::AllOf;
using testing::complaint_of;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::small_experiment;
using ::testing::StartsWith;

std::string text_of(std::uint32_t nodes, std::uint64_t events) {
  return to_text(std::vector<std::uint64_t>(nodes, events));
}

// Of one iteration; the first event of each tile apart.
std::uint64_t predicted_total(const Experiment& experiment) {
  const auto events = predicted_events(experiment);
  return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
}

TEST(Weights, PredictionIsWhatARunHandles) {
  for (const std::string network : {"packet", "analytical"}) {
    for (const std::string memory : {"channel", "bandwidth"}) {
      const Experiment experiment =
          read(small_experiment(), {"machine.network.model=" + network, "run.iterations=1",
                                    "machine.memory.model=" + memory, "machine.tile.sram=1 kB"});
      const auto communicator = comm::make_in_process();
      const trace::Summary summary = run(experiment, *communicator, {});
      const std::uint64_t begins = experiment.plan().strategy.degrees.tiles();
      EXPECT_EQ(predicted_total(experiment) + begins, summary.events) << network << memory;
    }
  }
}

TEST(Weights, ChangeNoResult) {
  Files files = small_experiment();
  files["lab/run/node_events.txt"] = text_of(16, 7);
  const auto communicator = comm::make_in_process();
  const std::string expected = run(read(files), *communicator, {}).result_digest;
  for (const std::string weights : {"none", "predicted", "lab/run"}) {
    const Experiment experiment = read(files, {"run.weights=" + weights});
    for (int ranks = 2; ranks <= 4; ++ranks) {
      comm::run_ranks_as_threads(ranks, [&](comm::Communicator& threads) {
        EXPECT_EQ(run(experiment, threads, {}).result_digest, expected) << weights;
      });
    }
  }
}

TEST(Weights, ARunLeavesThemForTheNext) {
  const std::string folder =
      (std::filesystem::path(::testing::TempDir()) / "tessera_sim_weights").string();
  std::filesystem::remove_all(folder);
  Experiment experiment = read(small_experiment());
  RunRequest request;
  request.folder = folder;
  comm::run_ranks_as_threads(
      2, [&](comm::Communicator& threads) { run(experiment, threads, request); });
  use_weights(experiment, folder, config::load_text_file);
  ASSERT_EQ(experiment.measured_events.size(), 16U);
  const std::uint64_t sum = std::accumulate(experiment.measured_events.begin(),
                                            experiment.measured_events.end(), std::uint64_t{0});
  EXPECT_GT(sum, 1000U);
  use_partition(experiment, "blocks");
  const machine::Partition partition = cut_for(experiment, 4).partition;
  EXPECT_LT(partition.imbalance, 1.5);
  std::filesystem::remove_all(folder);
}

TEST(Weights, AreReadBesideTheExperiment) {
  Files files = testing::edited("experiment.yaml", "trace: none", "trace: none, weights: old.txt");
  files["lab/old.txt"] = text_of(16, 3);
  EXPECT_EQ(read(files).measured_events, std::vector<std::uint64_t>(16, 3));
}

TEST(Weights, BadOnesAreRefused) {
  Files files = small_experiment();
  const std::vector<std::string> old{"run.weights=old.txt"};
  EXPECT_THAT(
      complaint_of(files, old),
      StartsWith("--set run.weights=old.txt:1:5: error: run.weights: old.txt: no such file"));
  files["old.txt"] = text_of(15, 3);
  EXPECT_THAT(complaint_of(files, old), HasSubstr("old.txt:1:1: error: holds 15 nodes"));
  files["old.txt"] = "1\n2\n";
  EXPECT_THAT(complaint_of(files, old), HasSubstr("is no node_events.txt"));
  files["old.txt"] = text_of(16, 3) + "x\n";
  EXPECT_THAT(complaint_of(files, old), HasSubstr("old.txt:18:1"));
  files["old.txt"] = text_of(16, 3);
  files["old.txt"].pop_back();
  EXPECT_THAT(complaint_of(files, old), HasSubstr("old.txt:17:1"));
}

TEST(Weights, CountsBeyond32BitsAreScaledTogether) {
  Files files = small_experiment();
  std::vector<std::uint64_t> events(16, std::uint64_t{1} << 40);
  events[3] = 0;
  events[4] = std::uint64_t{1} << 39;
  files["old.txt"] = to_text(events);
  const auto weights = node_weights(read(files, {"run.weights=old.txt"}));
  EXPECT_EQ(weights[3], 1U);
  EXPECT_NEAR(static_cast<double>(weights[0]) / weights[4], 2, 1e-6);
}

}  // namespace
}  // namespace tessera::sim::weights_test
