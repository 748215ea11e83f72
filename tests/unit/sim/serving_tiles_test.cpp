// Language models served by tiles whose compute model gives times of operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/serving/serving.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_tiles_test {
namespace {

using testing::complaint_of;
using testing::expect_goes_on_from_eighths;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

// Tiles with memories of their own, a microsecond of each operand at 64 GB/s.
const std::string in_dram =
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
    "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n";
const std::string in_sram =
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 400 kB, sram_bandwidth: 64 GB/s}\n";
const std::string gpu = "  compute: {model: roofline}\n";

Files experiment_of(const std::string& workload, const std::string& machine = in_dram + gpu) {
  return {{"lab/experiment.yaml", "name: tiles\nmachine:\n  name: tiles\n" + machine +
                                      "run: {trace: none}\nworkload:\n  kind: serving\n" +
                                      workload}};
}

// 2 layers of 12 * 64 * 64 and more, 100 kB each.
const std::string small_model =
    "{layers: 2, hidden: 64, heads: 4, sequence: 128, vocabulary: 64, biases: false, "
    "normalisation: rms_norm, positions: rotary, tie_embeddings: false}";

std::string tenant(const std::string& requests, const std::string& more = "") {
  return "  tenants:\n    - language_model: " + small_model + "\n      requests: " + requests +
         "\n" + more;
}

const std::string cut =
    "  scheduler: {policy: deadline}\n  all_reduce: halving-doubling\n" +
    tenant("{arrivals: poisson, rate: 100000, count: 6, prompt: [4, 20], generate: [1, 5]}",
           "      tensor: 4\n      pipeline: 2\n      target: {first_token: 20 us}\n") +
    "    - name: one\n      language_model: " + small_model +
    "\n      npus: [1]\n      batching: {chunk: 8, block: 4, cache: 16 KiB}\n"
    "      requests: {arrivals: closed, clients: 3, count: 5, prompt: 20, generate: 6}\n";

double microseconds_between_tokens(const std::string& workload, const std::string& machine) {
  const trace::Summary summary = run_on(1, read(experiment_of(workload, machine)));
  return static_cast<double>(summary.services.at(0).between_tokens.mean) * 1e-6;
}

TEST(ServingOnTiles, IsTheSameOnAnyNumberOfRanks) {
  for (const char* const compute :
       {"{model: roofline}", "{model: gemm, tiles: [16x16], launch_overhead: 1 us}",
        "{model: systolic, array: [8, 8]}", "{model: systolic-cycle, array: [8, 8]}"}) {
    const Experiment experiment =
        read(experiment_of(cut, in_dram + "  compute: " + compute + "\n"));
    const trace::Summary expected = run_on(1, experiment);
    EXPECT_EQ(expected.services.at(0).served, 6U);
    EXPECT_EQ(expected.services.at(1).tokens, 30U);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, experiment).result_digest, expected.result_digest) << compute;
    }
  }
}

// Shards add up by whatever does an all-reduce, also out of step and in several lanes.
TEST(ServingOnTiles, AddsUpByAnyAlgorithm) {
  const std::string usual = "halving-doubling";
  std::set<std::string> digests;
  for (const std::string& name : collective::algorithms().names()) {
    std::string workload = cut;
    workload.replace(workload.find(usual), usual.size(), name);
    const Experiment experiment = read(experiment_of(workload));
    const trace::Summary summary = run_on(1, experiment);
    EXPECT_EQ(summary.status, "finished") << name;
    EXPECT_EQ(summary.services.at(0).served, 6U) << name;
    EXPECT_EQ(run_on(3, experiment).result_digest, summary.result_digest) << name;
    digests.insert(summary.result_digest);
  }
  EXPECT_GT(digests.size(), 3U);
}

// A token takes as long as all weights and the cache from memory; arithmetic is hidden behind them,
// in each operator.
TEST(ServingOnTiles, GeneratesAtTheBandwidthOfMemory) {
  const std::string one = tenant("{arrivals: closed, count: 1, prompt: 16, generate: 17}");
  const std::uint64_t weights = 2 * (2 * 12 + 1) * 64 * 64 + 2 * 5 * 64;  // without the embedding
  // Of a layer 2 * 64 elements a token; 17 to 32 tokens are two blocks.
  const std::uint64_t cached = 2 * 2 * 2 * 64 * 32;
  const double least = static_cast<double>(weights + cached) / 64e9 * 1e6;
  const double took = microseconds_between_tokens(one, in_dram + gpu);
  EXPECT_GT(took, least);
  EXPECT_LT(took, 1.1 * least);  // activations, and messages of the host
  // The same where weights stay in SRAM of that bandwidth, and slower where they come to it.
  EXPECT_NEAR(microseconds_between_tokens(one, in_sram + gpu + "  memory: {model: channel}\n"),
              took, 1e-3 * took);
  std::string small = in_sram + gpu;
  small.replace(small.find("sram: 400 kB"), 12, "sram: 100 kB");
  small += "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MB}\n";
  const double streamed = microseconds_between_tokens(one, small);
  EXPECT_GT(streamed, 2 * least);
  EXPECT_LT(streamed, 2 * least + 20 * 0.1 + 1);  // an idle channel answers in 100 ns
}

// Weights lie as they are multiplied where nothing else is said of them, and prompts, which compute
// keeps waiting, go at the rate of the narrower type.
TEST(ServingOnTiles, MultipliesInATypeOfItsOwn) {
  const auto served = [](const std::string& products, const std::string& requests,
                         const std::string& peaks, const std::string& more = "") {
    std::string one = tenant(requests, more);
    one.replace(one.find("{layers"), 7, "{" + products + "layers");
    std::string machine = in_dram + gpu;
    machine.replace(machine.find("fp16: 1 TFLOP/s"), 15, peaks);
    return run_on(1, read(experiment_of(one, machine)));
  };
  const std::string prompt = "{arrivals: closed, count: 1, prompt: 64, generate: 1}";
  const std::string slow = "fp16: 0.02 TFLOP/s, fp8: 0.04 TFLOP/s";
  const auto wide = served("", prompt, slow);
  const auto narrow = served("product_type: fp8, ", prompt, slow);
  const double ratio = static_cast<double>(narrow.services.at(0).first_token.mean) /
                       static_cast<double>(wide.services.at(0).first_token.mean);
  EXPECT_GT(ratio, 0.5);  // attention, norms and casts are as before, or come to it
  EXPECT_LT(ratio, 0.65);
  EXPECT_GT(wide.peak_flops_per_s, 0);
  EXPECT_EQ(narrow.peak_flops_per_s, 0);  // of several types

  const std::string tokens = "{arrivals: closed, count: 1, prompt: 1, generate: 9}";
  const auto between = [&](const std::string& products, const std::string& more) {
    const auto summary = served(products, tokens, "fp16: 1 TFLOP/s, fp8: 2 TFLOP/s", more);
    return static_cast<double>(summary.services.at(0).between_tokens.mean);
  };
  const double fp8 = between("product_type: fp8, ", "");
  EXPECT_LT(fp8, 0.6 * between("", ""));
  EXPECT_LT(between("product_type: fp8, ", "      weights: {type: int4}\n"), 0.65 * fp8);
}

TEST(ServingOnTiles, SaysWhatDoesNotFitInSram) {
  const auto notes = [](const std::string& sram, const std::string& batching) {
    std::string machine = in_sram + gpu;
    machine.replace(machine.find("400 kB"), 6, sram);
    machine += "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 1 MB}\n";
    const std::string one =
        tenant("{arrivals: closed, count: 1, prompt: 16, generate: 2}", batching);
    return run_on(1, read(experiment_of(one, machine))).notes;
  };
  EXPECT_THAT(notes("100 kB", ""), ::testing::Contains(HasSubstr("do not fit entirely in SRAM")));
  EXPECT_THAT(notes("400 kB", ""), ::testing::Contains(HasSubstr("keys and values of ")));
  EXPECT_THAT(notes("400 kB", "      batching: {cache: 64 KiB}\n"),
              ::testing::Not(::testing::Contains(HasSubstr("SRAM"))));
}

TEST(ServingOnTiles, SaysFlopsAndPeak) {
  const std::string one = tenant("{arrivals: closed, count: 1, prompt: 16, generate: 2}");
  const Experiment experiment = read(experiment_of(one));
  const trace::Summary summary = run_on(1, experiment);
  EXPECT_EQ(summary.tiles, 1U);
  EXPECT_EQ(summary.peak_flops_per_s, 1e12);
  const serving::ServedModel& model = *served_by(*experiment.only_job())->tenants[0].model;
  const serving::Batch prompt{{{1, 16, 16}}, 1, 0};
  const serving::Batch token{{{1, 1, 32}}, 1, 0};
  const double flops = static_cast<double>(model.flops(prompt) + model.flops(token));
  EXPECT_DOUBLE_EQ(
      summary.achieved_flops_per_s * static_cast<double>(summary.simulated_time_ps) * 1e-12, flops);
  EXPECT_EQ(summary.flops_per_iteration, flops);
  EXPECT_EQ(summary.executed_flops_per_iteration, flops);
}

TEST(ServingOnTiles, SaysWhatAnNpuKeeps) {
  const Experiment experiment = read(experiment_of(cut));
  const trace::Summary summary = run_on(1, experiment);
  const std::vector<executor::ServiceSettings>& tenants =
      served_by(*experiment.only_job())->tenants;
  ASSERT_EQ(summary.peak_memory.size(), tenants.size());
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const trace::PeakMemory& peak = summary.peak_memory[i];
    const std::uint64_t block = tenants[i].model->cache_block(tenants[i].batching.block).count();
    EXPECT_EQ(peak.name, summary.services[i].tenant);
    EXPECT_GT(summary.services[i].cache_blocks, 0U);
    EXPECT_EQ(peak.bytes,
              tenants[i].model->weights().count() + summary.services[i].cache_blocks * block);
    EXPECT_EQ(peak.parts.at(0).second + peak.parts.at(1).second, peak.bytes);
  }
  EXPECT_EQ(run_on(3, experiment).peak_memory.at(0).bytes, summary.peak_memory[0].bytes);
}

TEST(ServingOnTiles, SaysWhichKeysHaveNoEffect) {
  const auto notes = [](const std::string& model, const std::string& scheduler) {
    return read(experiment_of(scheduler + "  tenants:\n    - language_model: " + model +
                              "\n      requests: {arrivals: closed, count: 1, prompt: 16, "
                              "generate: 2}\n"))
        .notes;
  };
  EXPECT_THAT(notes(small_model, ""), ::testing::IsEmpty());
  std::string more = small_model;
  more.insert(1, "batch: 8, dropout: false, ");
  EXPECT_THAT(notes(more, "  scheduler: {policy: time-sharing}\n"),
              ::testing::UnorderedElementsAre(HasSubstr("batch has no effect with requests"),
                                              HasSubstr("dropout has no effect with requests"),
                                              HasSubstr("policy has no effect with one tenant")));
}

// Tenants with a target go first; what others do is not taken back.
TEST(ServingOnTiles, TakesWhatIsUrgentFirst) {
  const auto latency = [](const std::string& policy) {
    const std::string both =
        "  scheduler: {policy: " + policy + "}\n" +
        tenant("{arrivals: fixed, count: 40, interval: 30 us, prompt: 4, generate: 3}",
               "      target: {between_tokens: 1 us}\n") +
        "    - name: beside\n      background: true\n      language_model: " + small_model +
        "\n      requests: {arrivals: closed, clients: 4, prompt: 60, generate: 60}\n";
    return run_on(1, read(experiment_of(both))).services.at(0).between_tokens.mean;
  };
  EXPECT_LT(latency("deadline"), latency("first-come"));
  EXPECT_GT(latency("time-sharing"), latency("deadline"));
}

TEST(ServingOnTiles, GoesOnFromACheckpoint) {
  std::string small = in_sram + gpu;
  small.replace(small.find("sram: 400 kB"), 12, "sram: 10 kB");
  small += "  dram: {at: edge, edges: [west], bandwidth: 32 GB/s, latency: 100 ns}\n";
  const Experiment experiment = read(experiment_of(cut, small));
  expect_goes_on_from_eighths(experiment, "tessera_tiles_checkpoint",
                              [](const trace::Summary& summary, const trace::Summary& expected) {
                                EXPECT_EQ(summary.achieved_flops_per_s,
                                          expected.achieved_flops_per_s);
                              });
}

TEST(ServingOnTiles, WeighsTilesByWhatTheyServe) {
  const std::vector<std::uint64_t> events = predicted_events(read(experiment_of(cut)));
  EXPECT_GT(events[1], events[2]);  // two models
  EXPECT_GT(events[7], 0U);
  EXPECT_GT(events[0], events[3]);  // the host
}

std::string complaint(const std::string& workload, const std::string& machine = in_dram + gpu) {
  return complaint_of(experiment_of(workload, machine));
}

TEST(ServingOnTiles, RefusesWhatDoesNotFit) {
  const std::string requests = "{arrivals: closed, count: 1, prompt: 16, generate: 2}";
  std::string small = in_dram + gpu;
  small.replace(small.find("capacity: 1 MB"), 14, "capacity: 100 kB");
  EXPECT_THAT(complaint(tenant(requests), small), HasSubstr("its memory has 100000 B"));
  EXPECT_EQ(complaint(tenant(requests, "      tensor: 4\n"), small), "");
  std::string sram = in_sram + gpu;
  EXPECT_THAT(complaint(tenant(requests, "      batching: {cache: 1 MB}\n"), sram),
              HasSubstr("the weights and the cache on NPU 0"));
  sram.replace(sram.find("sram: 400 kB"), 12, "sram: 100 kB");
  EXPECT_THAT(complaint(tenant(requests), sram), HasSubstr("its memory has 100000 B"));
}

TEST(ServingOnTiles, RefusesWhatNeedsCores) {
  const std::string requests = "{arrivals: closed, count: 1, prompt: 16, generate: 2}";
  const std::string one = tenant(requests);
  EXPECT_THAT(complaint("  scheduler: {policy: spatial}\n" + one), HasSubstr("shares out cores"));
  EXPECT_THAT(complaint("  scheduler: {policy: spatial-split}\n" + one),
              HasSubstr("shares out cores"));
  EXPECT_THAT(complaint("  npu_cores: 4\n" + one), HasSubstr("NPUs by themselves"));
  EXPECT_THAT(complaint(tenant(requests, "      cores: 0\n")), HasSubstr("without cores"));
  EXPECT_THAT(complaint(tenant(requests, "      tensor: 4\n      pipeline: 4\n")),
              HasSubstr("more stages than layers"));
  std::string other = one;
  other.replace(other.find("{layers"), 7, "{data_type: bf16, layers");
  EXPECT_THAT(complaint(other), HasSubstr("gives no peak (machine.tile.peak)"));
  std::string narrow = one;
  narrow.replace(narrow.find("{layers"), 7, "{product_type: fp8, layers");
  EXPECT_THAT(complaint(narrow), HasSubstr("computes in fp8, of which the machine gives no peak"));
  EXPECT_THAT(
      complaint(
          one,
          in_dram + "  types: {core: {nodes: [1], compute: {model: npu, array: [8, 8]}}}\n" + gpu),
      HasSubstr("not by both"));
}

}  // namespace
}  // namespace tessera::sim::serving_tiles_test
