// FLOPs of a model are the same whatever takes it: cores that share its operators, or tiles over
// which a strategy cuts it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim::model_flops_test {
namespace {

const std::string core =
    "compute: {model: npu, array: [16, 16], vector_width: 64, scratchpad: 256 KiB, accumulator: 64 "
    "KiB}";

std::string machine_of(const std::string& compute) {
  return "machine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 5 ns}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}}\n"
         "  dram: {at: each, bandwidth: 64 GB/s, latency: 60 ns}\n  " +
         compute + "\nrun: {trace: none}\n";
}

double flops_of(const std::string& text) {
  const Experiment experiment = testing::read({{"lab/experiment.yaml", text}});
  return experiment.only_job()->work(experiment)->flops_of_sample();
}

struct Model {
  const char* file;
  const char* keys;
};

// With softmax, norms of layers, GELU, pools, ReLU, sigmoids and recurrent cells.
TEST(ModelFlops, AreThoseOfAPlanOverTiles) {
  for (const Model& model :
       {Model{"bert_base", "dimensions: {batch: 1, sequence: 16}"},
        Model{"resnet50", "dimensions: {batch: 1}"},
        Model{"pp_ocr_v2_cls", "shapes: {x: [1, 3, 48, 192]}"},
        Model{"silero_vad_v5",
              "dimensions: {input.0: 1, input.1: 512, state.1: 1}, values: {sr: [16000]}"}}) {
    for (const char* const level : {"none", "extended", "all"}) {
      const std::string workload =
          "workload: {kind: onnx, data_type: fp16, optimize: " + std::string(level) +
          ", model: " TESSERA_ONNX_MODELS "/" + model.file + ".onnx, " + model.keys + "}\n";
      const double on_cores = flops_of(machine_of(core) + workload);
      const double on_tiles =
          flops_of(machine_of("compute: {model: roofline}") + workload + "strategy: {}\n");
      EXPECT_GT(on_cores, 0);
      EXPECT_DOUBLE_EQ(on_cores, on_tiles) << model.file << ", " << level;
    }
  }
}

// What costs nothing is not done.
TEST(ModelFlops, OfFreeNodesAreNone) {
  const std::string workload = "workload: {kind: onnx, data_type: fp16, model: " TESSERA_ONNX_MODELS
                               "/resnet50.onnx, dimensions: {batch: 1}";
  EXPECT_LT(flops_of(machine_of(core) + workload + ", free: [Relu]}\n"),
            flops_of(machine_of(core) + workload + "}\n"));
}

double listed(const std::string& op) {
  return flops_of(machine_of(core) + "workload: {kind: operators, operators: [" + op + "]}\n");
}

TEST(ListedOperators, CountTheWorkOfTheVectorUnit) {
  EXPECT_EQ(listed("{kind: gemm, rows: 16, columns: 32, depth: 8}"), 2 * 16 * 32 * 8);
  EXPECT_EQ(listed("{kind: softmax, rows: 10, columns: 40}"), 5 * 10 * 40);
  EXPECT_EQ(listed("{kind: norm, rows: 10, columns: 40}"), 7 * 10 * 40);
  EXPECT_EQ(listed("{kind: norm, type: rms, skip: true, rows: 10, columns: 40}"), 5 * 10 * 40);
  EXPECT_EQ(listed("{kind: elementwise, elements: 64, operation: gelu}"), 5 * 64);
  EXPECT_EQ(listed("{kind: pool, height: 8, width: 8, channels: 4, kernel: 2}"), 64 * 4);
  EXPECT_EQ(listed("{kind: transpose, rows: 8, columns: 8}"), 0);
}

TEST(ListedOperators, SayTheirFlopsInTheSummary) {
  const trace::Summary summary = testing::run_on(
      2, {{"lab/experiment.yaml",
           machine_of(core) + "workload: {kind: operators, operators: [{kind: softmax, rows: 10, "
                              "columns: 40}]}\n"}});
  EXPECT_EQ(summary.flops_per_iteration, 5 * 10 * 40);
  EXPECT_EQ(summary.executed_flops_per_iteration, 5 * 10 * 40);
  EXPECT_GT(summary.achieved_flops_per_s, 0);
}

}  // namespace
}  // namespace tessera::sim::model_flops_test
