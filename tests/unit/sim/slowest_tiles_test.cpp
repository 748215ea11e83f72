// Tiles that stand for others on machines with slow ones, beside runs of every tile.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::slowest_tiles_test {
namespace {

std::string text_of(const std::string& strategy, const std::string& faults) {
  return "machine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 100 ns}\n"
         "  tile: {peak: {fp16: 4 TFLOP/s}, operands: dram}\n"
         "  dram: {at: each, bandwidth: 200 GB/s, latency: 0 ns}\n"
         "  network: {model: analytical}\n"
         "  faults: {" +
         faults +
         "}\n"
         "workload: {kind: transformer, layers: 4, hidden: 256, heads: 8, sequence: 128,\n"
         "  vocabulary: 500, batch: 16}\n"
         "strategy: {" +
         strategy +
         "}\n"
         "run: {trace: none}\n";
}

double time_of(const std::string& strategy, const std::string& faults,
               const std::string& aggregation) {
  Experiment experiment = testing::read({{"lab/experiment.yaml", text_of(strategy, faults)}},
                                        {"strategy.aggregation=" + aggregation});
  const auto alone = comm::make_in_process();
  const trace::Summary summary = run_with_replay(experiment, *alone, {});
  EXPECT_EQ(summary.status, "finished");
  return static_cast<double>(summary.iteration_time_ps);
}

std::string drawn(const std::string& share, std::uint32_t seed) {
  return "random: {share: " + share + ", speed: 70 %, seed: " + std::to_string(seed) + "}";
}

// The same draws as of a run of every tile: a group waits for its slowest, and takes no less.
TEST(SlowestTiles, AreABoundFromAbove) {
  for (const std::string strategy :
       {"tensor: 4, data: 2", "tensor: 2, data: 2, pipeline: 2", "tensor: 4, pipeline: 2"}) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      const std::string faults = drawn("20 %", seed);
      const double whole = time_of(strategy, faults, "none");
      const double tensor = time_of(strategy, faults, "tensor");
      const double stage = time_of(strategy, faults, "stage");
      EXPECT_GE(tensor, whole) << strategy << ", " << seed;
      EXPECT_LE(tensor, 1.05 * whole) << strategy << ", " << seed;
      EXPECT_GE(stage, tensor) << strategy << ", " << seed;
      EXPECT_LE(stage, 1.15 * whole) << strategy << ", " << seed;
    }
  }
}

TEST(SlowestTiles, AreThoseOfEveryTileWherePairsWait) {
  for (const std::string node : {"0", "3", "6"}) {
    const std::string faults = "nodes: [{node: " + node + ", speed: 60 %}]";
    const std::string strategy = "tensor: 2, pipeline: 4";
    const double whole = time_of(strategy, faults, "none");
    EXPECT_GT(whole, 1.02 * time_of(strategy, "", "none"));
    EXPECT_EQ(time_of(strategy, faults, "tensor"), whole) << node;
    EXPECT_EQ(time_of(strategy, faults, "stage"), whole) << node;
  }
  const std::string all = drawn("100 %", 1);
  const std::string strategy = "tensor: 2, data: 2, pipeline: 2";
  EXPECT_EQ(time_of(strategy, all, "stage"), time_of(strategy, all, "none"));
}

TEST(SlowestTiles, GoWithSoundLinksAlone) {
  EXPECT_THROW(time_of("tensor: 4, data: 2", "links: [{from: 0, to: 1, bandwidth: 50 %}]", "stage"),
               ConfigError);
}

}  // namespace
}  // namespace tessera::sim::slowest_tiles_test
