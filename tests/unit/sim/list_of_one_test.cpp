// A list of one job does what that job does by itself.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/programs/replay.hpp"

namespace tessera::sim::list_of_one_test {
namespace {

const std::string machine =
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s, latency: 20 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
    "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
    "  network: {model: analytical}\n";
const std::string model =
    "workload: {kind: transformer, layers: 4, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
    "batch: 128}\n";
const std::string strategy = "strategy: {pipeline: 2, tensor: 2}\n";

testing::Files alone(const std::string& run = "") {
  return {{"lab/experiment.yaml", machine + model + strategy + run}};
}

std::string job(const std::string& name, const std::string& tiles, const std::string& more = "") {
  return "    - name: " + name + "\n      tiles: " + tiles + "\n      " + model + "      " +
         strategy + more;
}

testing::Files listed(const std::string& jobs, const std::string& run = "") {
  return {
      {"lab/experiment.yaml", machine + "workload:\n  kind: tenants\n  tenants:\n" + jobs + run}};
}

trace::Summary summary_of(const testing::Files& files) {
  Experiment experiment = testing::read(files);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

TEST(ListOfOne, IsReplayed) {
  const std::string replay = "run: {trace: none, replay: exact}\n";
  const trace::Summary expected = summary_of(alone(replay));
  ASSERT_GT(expected.replayed_micro_batches, 0U);
  for (const char* const more : {"", "      start: 3 us\n"}) {
    const trace::Summary summary = summary_of(listed(job("only", "all", more), replay));
    EXPECT_EQ(summary.replayed_micro_batches, expected.replayed_micro_batches);
    ASSERT_EQ(summary.tenants.size(), 1U);
    const trace::TenantResult& only = summary.tenants.front();
    EXPECT_EQ(only.end_ps - only.start_ps, expected.simulated_time_ps);
    EXPECT_EQ(only.iteration_time_ps, expected.iteration_time_ps);
    EXPECT_DOUBLE_EQ(only.throughput_samples_per_s, expected.throughput_samples_per_s);
    EXPECT_DOUBLE_EQ(only.achieved_flops_per_s, expected.achieved_flops_per_s);
    EXPECT_DOUBLE_EQ(only.executed_flops_per_iteration, expected.executed_flops_per_iteration);
    EXPECT_EQ(summary.simulated_time_ps, only.end_ps);
    EXPECT_EQ(summary.iteration_time_ps, expected.iteration_time_ps);
    EXPECT_DOUBLE_EQ(summary.executed_flops_per_iteration, expected.executed_flops_per_iteration);
    EXPECT_EQ(summary.message_bytes, expected.message_bytes);
    EXPECT_EQ(summary.peak_memory.front().bytes, expected.peak_memory.front().bytes);
  }
  const testing::Files named = listed(job("only", "0-3"), replay);
  const testing::Files whole = listed(job("only", "0-3"), "run: {trace: none}\n");
  EXPECT_EQ(summary_of(named).tenants.front().end_ps, summary_of(whole).tenants.front().end_ps);
}

TEST(ListOfOne, IsRefusedWhereItsJobIs) {
  const std::string run = "run: {replay: exact}\n";
  EXPECT_EQ(testing::complaint_of(listed(job("a", "0-3") + job("b", "4-7"), run)),
            "lab/experiment.yaml:17:7: error: run.replay: repeats the micro-batches of one "
            "workload, and these are 2 tenants: a, b; leave it out, or keep one of them in the "
            "list");
  const std::string graph =
      "    - {name: a, tiles: all, workload: {kind: collective, collective: all-reduce, size: 1 "
      "kB}}\n";
  EXPECT_EQ(
      testing::complaint_of(listed(graph, run)),
      "lab/experiment.yaml:10:7: error: run.replay: is for pipelines of micro-batches; this is a "
      "graph");
}

// Where it stands are its NPUs.
TEST(ListOfOne, IsAGraphOfItsTiles) {
  const Experiment whole = testing::read(alone());
  const Experiment all = testing::read(listed(job("only", "all")));
  const Experiment some = testing::read(listed(job("only", "2-5")));
  EXPECT_EQ(whole.single_job()->graphs(whole)->npus(), 8U);
  EXPECT_EQ(all.single_job()->graphs(all)->npus(), 8U);
  EXPECT_EQ(some.single_job()->graphs(some)->npus(), 4U);
}

// Which says no result, but how fast it comes.
TEST(ListOfOne, IsCutByItsStages) {
  const std::string run = "run: {trace: none, partition: stages}\n";
  EXPECT_EQ(testing::run_on(2, listed(job("only", "all"), run)).result_digest,
            testing::run_on(1, alone("run: {trace: none}\n")).result_digest);
}

TEST(ListOfOne, BecomesAnExperimentOfItsOwn) {
  const std::string text =
      listed(job("only", "all"), "run: {trace: none}\n").at("lab/experiment.yaml");
  const auto load = [&](const std::string&) { return text; };
  const Experiment single =
      read_single_job_experiment("lab/experiment.yaml", {}, {"strategy.pipeline=4"}, load);
  ASSERT_NE(single.only_job(), nullptr);
  EXPECT_EQ(single.kind, "transformer");
  EXPECT_EQ(single.plan().strategy.degrees.pipeline, 4U);
  EXPECT_EQ(single.plan().strategy.degrees.tensor, 2U);
}

}  // namespace
}  // namespace tessera::sim::list_of_one_test
