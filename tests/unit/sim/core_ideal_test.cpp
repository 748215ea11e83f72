// Lower bounds of plans on NPU cores that load their operands: arithmetic alone, whatever memory
// is.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::core_ideal_test {
namespace {

trace::Summary run_cores(const std::vector<std::string>& overrides) {
  const testing::Files files{
      {"lab/experiment.yaml",
       "machine:\n"
       "  topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 100 GB/s, latency: 10 ns}\n"
       "  tile: {peak: {fp16: 512 GFLOP/s}}\n"
       "  dram: {at: each, bandwidth: 50 GB/s, latency: 10 ns}\n"
       "  compute: {model: npu, clock: 1 GHz, array: [16, 16], scratchpad: 1 MiB, accumulator: 256 "
       "KiB}\n"
       "workload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 16, vocabulary: "
       "64, batch: 4}\n"
       "strategy: {}\n"
       "run: {trace: none}\n"}};
  Experiment experiment = testing::read(files, overrides);
  const auto communicator = comm::make_in_process();
  return run_with_replay(experiment, *communicator, {});
}

// `bandwidth` has all of a channel for each access, and a device is faster than the channel that
// an idle core is estimated with.
TEST(CoreIdeal, NoIterationIsShorter) {
  for (const char* const memory :
       {"{model: channel}", "{model: bandwidth}", "{model: dram, preset: HBM2}"}) {
    for (const char* const strategy : {"{}", "{pipeline: 2}", "{tensor: 2}"}) {
      for (const char* const mode : {"training", "inference"}) {
        const trace::Summary summary =
            run_cores({std::string("machine.memory=") + memory, "machine.dram.bandwidth=5 GB/s",
                       std::string("strategy=") + strategy, std::string("workload.mode=") + mode});
        EXPECT_GT(summary.ideal_time_ps, 0U);
        EXPECT_LE(summary.ideal_time_ps, summary.iteration_time_ps) << memory << strategy << mode;
      }
    }
  }
}

// With operands in SRAM nothing but the core takes time.
TEST(CoreIdeal, OfOperandsInSramIsTheIteration) {
  const trace::Summary summary =
      run_cores({"machine.compute.operands=sram", "machine.tile.sram=64 MB",
                 "machine.tile.sram_bandwidth=10 TB/s", "workload.mode=inference"});
  EXPECT_EQ(summary.ideal_time_ps, summary.iteration_time_ps);
}

}  // namespace
}  // namespace tessera::sim::core_ideal_test
