// What blocks of queries take to begin, by the keys that they see: of plans and of their graphs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"

namespace tessera::sim::attention_fill_test {
namespace {

testing::Files experiment(const std::string& mode) {
  return {{"lab/experiment.yaml",
           "machine:\n"
           "  topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 100 GB/s, latency: 100 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
           "  compute: {model: gemm, tiles: [16x16], units: 1, attention_efficiency: 100 %}\n"
           "workload: {kind: transformer, architecture: decoder, layers: 1, hidden: 256, sequence: "
           "16, vocabulary: 64, batch: 1, attention: flash, causal: false, mode: " +
               mode +
               "}\n"
               "strategy: {pipeline: 1, tensor: 1, data: 1, micro_batch: 1}\n"
               "run: {trace: none}\n"}};
}

// Of 16 keys, which are fewer than half the width of some heads.
TEST(AttentionFill, DoesNotDependOnTheWidthOfHeads) {
  for (const char* const mode : {"inference", "training"}) {
    const auto time = [&](const char* heads, const char* fill) {
      return testing::run_on(
                 1, testing::read(experiment(mode), {std::string("workload.heads=") + heads,
                                                     std::string("machine.compute.attention_"
                                                                 "fill=") +
                                                         fill}))
          .simulated_time_ps;
    };
    const auto fill = time("16", "160") - time("16", "0");
    EXPECT_GT(fill, 0);
    for (const char* const heads : {"1", "2", "4", "8"}) {
      EXPECT_EQ(time(heads, "160") - time(heads, "0"), fill) << mode << ", " << heads;
    }
  }
}

TEST(AttentionFill, IsThatOfGraphsToo) {
  const std::vector<std::string> wide{"workload.heads=1", "machine.compute.attention_fill=160"};
  std::vector<std::string> as_graph = wide;
  as_graph.emplace_back("execution.collectives.communicators=flat");
  EXPECT_EQ(testing::run_on(1, testing::read(experiment("training"), as_graph)).simulated_time_ps,
            testing::run_on(1, testing::read(experiment("training"), wide)).simulated_time_ps);
}

}  // namespace
}  // namespace tessera::sim::attention_fill_test
