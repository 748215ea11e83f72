// Products that wait for the units that a collective in the background has.

#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"

namespace tessera::sim::persistent_products_test {
namespace {

// Four replicas on a row, whose weights are shared out and gathered ahead.
std::int64_t time_with(const std::string& compute, const std::string& strategy = "",
                       int ranks = 1) {
  const testing::Files files{
      {"lab/experiment.yaml",
       "name: small\nmachine: m.yaml\nworkload: w.yaml\nstrategy: s.yaml\nrun: {trace: none}\n"},
      {"lab/m.yaml",
       "topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
       "tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
       "dram: {at: each, bandwidth: 1000 GB/s, latency: 1 ns}\nnetwork: {model: packet}\n"
       "memory: {model: channel}\n"
       "compute: {model: gemm, units: 4, tiles: [16x16], vector_peak: 1000 TFLOP/s" +
           compute + "}\n"},
      {"lab/w.yaml",
       "kind: transformer\nlayers: 4\nhidden: 64\nheads: 4\nsequence: 64\nvocabulary: 100\n"
       "batch: 4\ndata_type: fp16\noptimizer: adam\n"},
      {"lab/s.yaml", "data: 4\nmicro_batch: 1\nzero: 3\naggregation: stage\n" + strategy}};
  return testing::run_on(ranks, files).iteration_time_ps;
}

// Alone nothing changes; beside a gather each takes up to twice as long.
TEST(PersistentProducts, WaitForUnitsOfACollective) {
  const std::string few = ", collective_units: 1";
  const std::string persistent = few + ", persistent_products: true";
  const std::string serial = "prefetch: none\n";
  const std::int64_t hidden = time_with("");
  EXPECT_EQ(time_with(persistent, serial), time_with("", serial));
  EXPECT_GT(time_with(persistent), hidden);
  EXPECT_LE(time_with(persistent), 2 * hidden);
  EXPECT_EQ(time_with(persistent, "", 2), time_with(persistent));
}

// Three of four units are a collective's: products go on four times as fast when it is over, so
// that to hide it costs no more than to wait for it.
TEST(PersistentProducts, OthersHaveAllUnitsOnceACollectiveIsOver) {
  const std::string units = ", collective_units: 3";
  EXPECT_GT(time_with(units), time_with(""));
  EXPECT_LE(time_with(units), time_with(units, "prefetch: none\n"));
}

// Gathers of weights bring some GB/s to each tile, whose memory moves 1000: what takes all of them
// gets less meanwhile, and alone nothing changes.
TEST(PersistentProducts, CollectivesTakeMemoryWhileTheyLast) {
  const std::string units = ", collective_units: 1";
  const std::string once = units + ", collective_accesses: 1";
  const std::string often = units + ", collective_accesses: 16";
  EXPECT_GT(time_with(once), time_with(units));
  EXPECT_GT(time_with(often), time_with(once));
  EXPECT_EQ(time_with(often, "prefetch: none\n"), time_with(units, "prefetch: none\n"));
  EXPECT_EQ(time_with(often, "", 2), time_with(often));
}

}  // namespace
}  // namespace tessera::sim::persistent_products_test
