// Keys of compute models that served models and graphs leave without effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::traits_test {
namespace {

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

std::string noted_latencies(const std::string& layers) {
  std::string names;
  for (const std::string name :
       {"add", "mul", "exp", "div", "gelu", "tree", "scalar_mul", "scalar_sqrt"}) {
    names += is_noted(served(layers), "machine.compute.latencies." + name, "900",
                      "operators that have no such passes")
                 ? name + " "
                 : "";
  }
  return names;
}

TEST(Traits, LatenciesOfPassesThatServedModelsDoNotHaveAreNoted) {
  EXPECT_EQ(noted_latencies("mlp: gelu"), "");
  EXPECT_EQ(noted_latencies("mlp: relu"), "gelu ");
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
