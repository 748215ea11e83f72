// Runs of graphs of vertices: times by hand.
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

// Two XPUs of 1 TFLOP/s; vertices and what else the workload says.
testing::Files experiment(const std::string& workload) {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
           "  network: {model: analytical}\n"
           "workload:\n"
           "  kind: graph\n" +
               workload + "run: {trace: none}\n"}};
}

trace::Summary summary_of(const testing::Files& files,
                          const std::vector<std::string>& overrides = {}) {
  const Experiment experiment = testing::read(files, overrides);
  const auto communicator = comm::make_in_process();
  return run(experiment, *communicator, {});
}

// 1 ms an iteration.
const char* const repeated =
    "  iterations: 3\n"
    "  vertices: [{name: work, start: true, flops: 1 GFLOP}]\n";

TEST(GraphRun, IterationsInsideOfGraphsCount) {
  const trace::Summary three = summary_of(experiment(repeated));
  EXPECT_EQ(three.iterations, 3U);
  EXPECT_EQ(three.simulated_time_ps, 3'000'000'000);
  EXPECT_EQ(three.iteration_time_ps, 1'000'000'000);
  EXPECT_DOUBLE_EQ(three.throughput_samples_per_s, 1000);
  EXPECT_DOUBLE_EQ(three.achieved_flops_per_s, 2e12);

  const trace::Summary six = summary_of(experiment(repeated), {"run.iterations=2"});
  EXPECT_EQ(six.iterations, 6U);
  EXPECT_EQ(six.iteration_time_ps, 1'000'000'000);
  EXPECT_DOUBLE_EQ(six.achieved_flops_per_s, 2e12);
}

TEST(GraphRun, TooManyIterationsInAll) {
  EXPECT_EQ(testing::complaint_of(experiment(repeated), {"run.iterations=1000000"}), "");
  EXPECT_NE(testing::complaint_of(experiment(repeated),
                                  {"run.iterations=1000000", "workload.iterations=1001"})
                .find("run.iterations: with 1001 iterations in each graph more than 1000000000"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera::sim
