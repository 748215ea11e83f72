// Plans on NPU cores: as programs and as graphs, and of a model of ONNX as its operators on a chip.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conforming.hpp"
#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::conformance_cores_test {
namespace {

using testing::expect_alike;
using testing::flat;
using testing::model;
using testing::no_trace;
using testing::summary_of;

std::string cores(const std::string& memory, const std::string& operands) {
  return "machine:\n"
         "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s, latency: 20 ns}\n"
         "  tile: {peak: {fp16: 512 GFLOP/s}, sram: 10 kB, sram_bandwidth: 100 GB/s}\n"
         "  dram: {at: edge, edges: [west, east], bandwidth: 20 GB/s, latency: 50 ns}\n"
         "  network: {model: analytical}\n"
         "  memory: {model: " +
         memory +
         "}\n"
         "  compute: {model: npu, array: [16, 16], vector_width: 64, scratchpad: 64 KiB, "
         "accumulator: 16 KiB, operands: " +
         operands + "}\n";
}

const std::vector<std::string> strategies{
    "strategy: {pipeline: 2, tensor: 2, data: 2}\n",
    "strategy: {data: 4, zero: 3, overlap_gradients: true}\n",
    "strategy: {pipeline: 2, tensor: 2, recompute: full, schedule: gpipe}\n"};

TEST(Conformance, PlansAsGraphsOnCores) {
  for (const std::string memory : {"channel", "dram, preset: DDR4"}) {
    for (const std::string operands : {"memory", "sram"}) {
      for (const std::string& strategy : strategies) {
        if (memory != "channel" && strategy == strategies[1]) {
          continue;  // accesses of one instant may come to banks in another order
        }
        const std::string text = cores(memory, operands) + model + strategy + no_trace;
        const std::string about = memory + " " + operands + " " + strategy;
        const trace::Summary graphs = summary_of(text + flat);
        expect_alike(summary_of(text), graphs, about);
        const Experiment again = testing::read({{"lab/experiment.yaml", text + flat}});
        EXPECT_EQ(testing::run_on(3, again).result_digest, graphs.result_digest) << about;
      }
    }
  }
}

// With operations under way on cores.
TEST(Conformance, GraphsOnCoresGoOn) {
  const std::string text =
      cores("channel", "memory") + model + strategies.front() + "run: {trace: none}\n" + flat;
  testing::expect_goes_on(testing::read({{"lab/experiment.yaml", text}}), "graphs_on_cores");
}

// A memory without channels in motion has no account of what cores access.
TEST(Conformance, PlansAsGraphsOnCoresWithoutAnAccount) {
  const std::string text = cores("bandwidth", "memory") + model + strategies.front() + no_trace;
  const trace::Summary plan = summary_of(text);
  const trace::Summary graphs = summary_of(text + flat);
  EXPECT_EQ(plan.iteration_time_ps, graphs.iteration_time_ps);
  EXPECT_FALSE(plan.memory_read_bytes.has_value());
  EXPECT_FALSE(graphs.memory_read_bytes.has_value());
}

// Weights that SRAM does not hold are loaded by the cores, and not streamed by the plan as well.
TEST(Conformance, PlansReadOperandsOfCoresOnce) {
  const std::string text = cores("channel", "memory") + model + strategies.front() + no_trace;
  const trace::Summary small = summary_of(text);
  const trace::Summary large = summary_of(text, {"machine.tile.sram=1 GiB"});
  EXPECT_EQ(small.iteration_time_ps, large.iteration_time_ps);
  EXPECT_EQ(small.memory_read_bytes, large.memory_read_bytes);
  EXPECT_EQ(small.memory_written_bytes, large.memory_written_bytes);
}

// With and without fused functions. A plan counts an addition for each FLOP of a function, where
// the chip knows its passes, and has functions behind a product after it.
TEST(Conformance, ModelsOfOnnxOnACore) {
  for (const std::string operands : {"sram", "memory"}) {
    const std::string machine =
        "machine:\n"
        "  topology: {kind: mesh, rows: 1, columns: 1, bandwidth: 1 GB/s, latency: 1 ns}\n"
        "  tile: {peak: {fp16: 32.768 TFLOP/s}, sram: 8 MiB, sram_bandwidth: 4 TB/s}\n"
        "  dram: {at: edge, edges: [west], bandwidth: 614 GB/s, latency: 10 ns, capacity: 8 GB}\n"
        "  memory: {model: channel}\n"
        "  compute: {model: npu, array: [128, 128], vector_width: 2048, scratchpad: 32 MiB, "
        "accumulator: 4 MiB, operands: " +
        operands + "}\n";
    for (const std::string level : {"none", "basic", "extended"}) {
      const auto work = [&](const std::string& dimensions) {
        return "workload: {kind: onnx, model: " TESSERA_ONNX_MODELS
               "/bert_base.onnx, dimensions: {sequence: 32" +
               dimensions + ", optimize: " + level + ", data_type: fp16}\n";
      };
      const trace::Summary chip = summary_of(machine + work(", batch: 1}") + no_trace);
      const trace::Summary plan =
          summary_of(machine + work("}, batch: batch") + "strategy: {}\n" + no_trace,
                     {"machine.tile.sram=" + std::string(operands == "sram" ? "1 GiB" : "8 MiB")});
      const std::string about = operands + " " + level;
      EXPECT_DOUBLE_EQ(plan.flops_per_iteration, chip.flops_per_iteration) << about;
      const auto expected = static_cast<double>(chip.iteration_time_ps);
      EXPECT_NEAR(static_cast<double>(plan.iteration_time_ps), expected, 0.03 * expected) << about;
      ASSERT_TRUE(plan.memory_read_bytes && chip.memory_read_bytes) << about;
      const auto read = static_cast<double>(*chip.memory_read_bytes);
      EXPECT_NEAR(static_cast<double>(*plan.memory_read_bytes), read, 0.02 * read) << about;
    }
  }
}

}  // namespace
}  // namespace tessera::sim::conformance_cores_test
