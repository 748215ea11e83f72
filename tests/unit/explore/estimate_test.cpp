#include "tessera/explore/estimate.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::explore {
namespace {

using testing::Files;

sim::Experiment read(const Files& files, std::vector<std::string> settings) {
  settings.emplace_back("run.trace=none");
  return sim::read_experiment("lab/experiment.yaml", settings, testing::loader_of(files));
}

SimTime estimate_of(const sim::Experiment& experiment) {
  return Estimator(experiment.machine).iteration(experiment);
}

SimTime simulated(const sim::Experiment& experiment) {
  const auto alone = comm::make_in_process();
  return SimTime::from_ps(sim::run(experiment, *alone, {}).iteration_time_ps);
}

const std::vector<std::string> alone{"strategy.pipeline=1", "strategy.tensor=1"};

TEST(Estimate, OfOneTileIsExact) {
  const sim::Experiment experiment = read(testing::small_sweep(), alone);
  EXPECT_EQ(estimate_of(experiment), simulated(experiment));
  EXPECT_GT(estimate_of(experiment), SimTime::zero());
}

TEST(Estimate, OfAnIdealPipelineIsEquationOne) {
  // Links so fast that only arithmetic counts; the optimizer's SRAM is no limit here.
  Files files = testing::small_sweep();
  files.at("lab/machine.yaml") =
      "topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 1000 TB/s, latency: 1 ps}\n"
      "tile: {peak: {fp16: 1 GFLOP/s}, sram: 1 MB}\n";
  const sim::Experiment experiment = read(files, {"strategy.pipeline=4", "strategy.tensor=1"});
  const auto ideal = static_cast<double>(experiment.ideal_time().ps());
  // Equation (1) is more than the schedule needs where stages are not alike.
  EXPECT_GE(static_cast<double>(estimate_of(experiment).ps()), ideal);
  EXPECT_NEAR(static_cast<double>(estimate_of(experiment).ps()), ideal, 0.03 * ideal);
}

TEST(Estimate, CountsCollectivesOfARing) {
  // 2 (n - 1) steps of latency and 1/n of the vector each, on neighbours one hop apart, are what
  // tensor parallelism adds; nothing else meets them.
  const sim::Experiment experiment =
      read(testing::small_sweep(),
           {"strategy.pipeline=1", "strategy.tensor=2", "machine.network.model=analytical"});
  EXPECT_EQ(estimate_of(experiment), simulated(experiment));
}

TEST(Estimate, IsCloseForAllDegreesTogether) {
  const sim::Experiment experiment =
      read(testing::small_sweep(), {"strategy.pipeline=4", "strategy.tensor=2", "strategy.data=2",
                                    "machine.network.model=analytical"});
  const auto real = static_cast<double>(simulated(experiment).ps());
  EXPECT_NEAR(static_cast<double>(estimate_of(experiment).ps()), real, 0.25 * real);
}

TEST(Estimate, CountsDramWhereSramIsTooSmall) {
  Files files = testing::small_sweep();
  files.at("lab/machine.yaml") =
      "topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 10 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1000 TFLOP/s}, sram: 1 kB}\n"
      "dram: {at: each, bandwidth: 1 GB/s, latency: 10 ns}\n";
  const sim::Experiment experiment = read(files, alone);
  const auto real = static_cast<double>(simulated(experiment).ps());
  EXPECT_NEAR(static_cast<double>(estimate_of(experiment).ps()), real, 0.1 * real);
}

}  // namespace
}  // namespace tessera::explore
