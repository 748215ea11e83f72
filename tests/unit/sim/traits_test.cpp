// Keys of compute models that served models and graphs leave without effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::traits_test {
namespace {

using ::testing::Contains;
using testing::Files;
using testing::read;
using testing::run_on;

const std::string mesh =
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s, int8: 2 TFLOP/s}}\n"
    "  dram: {at: edge, edges: [west], bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MiB}\n";

// Of two layers on NPU cores.
Files served(const std::string& layers) {
  return {{"lab/experiment.yaml",
           mesh +
               "  compute: {model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, "
               "accumulator: 16 KiB}\n"
               "run: {trace: none}\nworkload:\n  kind: serving\n  npu_cores: 2\n  tenants:\n"
               "    - name: chat\n      language_model: {layers: 2, hidden: 32, heads: 4, "
               "sequence: 64, vocabulary: 50, " +
               layers +
               "}\n      npus: [0]\n      batching: {chunk: 8, block: 4, cache: 16 KiB}\n"
               "      requests: {arrivals: closed, clients: 3, count: 5, prompt: 20, generate: 6}"
               "\n"}};
}

Files graph() {
  return {{"lab/experiment.yaml",
           mesh + "  compute: {model: systolic, array: [8, 8]}\nrun: {trace: none}\n"
                  "workload: {kind: graph, vertices: [{name: work, start: true, flops: 1 "
                  "GFLOP}]}\n"}};
}

// A small network of convolutions on NPU cores, or on tiles of another model.
Files network(const std::string& compute, const std::string& type) {
  return {
      {"lab/experiment.yaml",
       "machine:\n  topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 64 GB/s, latency: 10 "
       "ns}\n  tile: {peak: {fp16: 1 TFLOP/s, int8: 2 TFLOP/s}, operands: dram}\n"
       "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 GB}\n  compute: {" +
           compute + "}\nrun: {trace: none}\nworkload:\n  kind: serving\n" +
           (compute.find("npu") == std::string::npos ? "" : "  npu_cores: 2\n") +
           "  tenants:\n    - onnx: {model: " TESSERA_ONNX_MODELS
           "/pp_ocr_v2_cls.onnx, optimize: extended, data_type: " +
           type +
           ", dimensions: {p2o.DynamicDimension.0: 1, p2o.DynamicDimension.1: 48, "
           "p2o.DynamicDimension.2: 32}}\n"
           "      requests: {arrivals: closed, count: 1}\n"}};
}
const std::string cores =
    "model: npu, array: [32, 32], vector_width: 64, scratchpad: 256 KiB, accumulator: 64 KiB";

// One node that computes, or one that sends.
Files vertices(const std::string& more) {
  Files files = graph();
  std::string& text = files.at("lab/experiment.yaml");
  text.replace(text.find("model: systolic, array: [8, 8]"), 30,
               "model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 "
               "KiB");
  text.replace(text.find("flops: 1 GFLOP"), 14, more);
  return files;
}

// Whether a run has the note of the key; where it has, the key must change nothing.
bool is_noted(const Files& files, const std::string& key, const std::string& value,
              const std::string& with, const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = more;
  const std::string usual = run_on(1, read(files, settings)).result_digest;
  settings.push_back(key + "=" + value);
  const Experiment experiment = read(files, settings);
  const auto& notes = experiment.notes;
  const bool noted = std::ranges::find(notes, key + " has no effect with " + with) != notes.end();
  const trace::Summary summary = run_on(1, experiment);
  EXPECT_EQ(summary.status, "finished");
  EXPECT_TRUE(!noted || summary.result_digest == usual) << key;
  return noted;
}

std::string noted_latencies(const Files& files) {
  std::string names;
  for (const std::string name :
       {"add", "mul", "exp", "div", "gelu", "tree", "scalar_mul", "scalar_sqrt"}) {
    names += is_noted(files, "machine.compute.latencies." + name, "900",
                      "operators that have no such passes")
                 ? name + " "
                 : "";
  }
  return names;
}

TEST(Traits, LatenciesOfPassesThatServedModelsDoNotHaveAreNoted) {
  EXPECT_EQ(noted_latencies(served("mlp: gelu")), "");
  EXPECT_EQ(noted_latencies(served("mlp: relu")), "gelu ");
}

TEST(Traits, LatenciesOfPassesThatServedNetworksDoNotHaveAreNoted) {
  EXPECT_EQ(noted_latencies(network(cores, "fp16")), "gelu scalar_mul scalar_sqrt ");
}

TEST(Traits, TypesThatServedNetworksDoNotComputeInAreNoted) {
  for (const std::string& compute : {cores, std::string("model: systolic, array: [8, 8]")}) {
    const std::string key = "machine.compute.macs_per_pe.int8";
    const std::string with = "work without products of int8";
    EXPECT_TRUE(is_noted(network(compute, "fp16"), key, "2", with)) << compute;
    EXPECT_FALSE(is_noted(network(compute, "int8"), key, "2", with)) << compute;
  }
}

TEST(Traits, LatenciesOfGraphsWithoutVectorWorkAreNoted) {
  const std::string key = "machine.compute.latencies.add";
  const std::string with = "operations that are all products";
  EXPECT_FALSE(is_noted(vertices("flops: 1 MFLOP, bytes: 1 kB"), key, "900", with));
  // A graph that computes nothing has none of the model.
  const Experiment idle = read(vertices("collective: all-reduce, bytes: 1 kB"), {key + "=900"});
  EXPECT_THAT(idle.notes,
              Contains("machine.compute has no effect with work that computes nothing"));
}

TEST(Traits, TypesThatServedModelsDoNotComputeInAreNoted) {
  const std::string key = "machine.compute.macs_per_pe.int8";
  const std::string with = "work without products of int8";
  EXPECT_TRUE(is_noted(served("data_type: fp16"), key, "2", with));
  EXPECT_FALSE(is_noted(served("data_type: int8"), key, "2", with));
}

TEST(Traits, TypesThatGraphsDoNotComputeInAreNoted) {
  const std::string key = "machine.compute.macs_per_pe.int8";
  const std::string with = "work without products of int8";
  EXPECT_TRUE(is_noted(graph(), key, "2", with));
  EXPECT_FALSE(is_noted(graph(), key, "2", with, {"execution.data_type=int8"}));
}

}  // namespace
}  // namespace tessera::sim::traits_test
