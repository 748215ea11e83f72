// Steps of served models as single events, beside the same steps walked operator by operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_whole_test {
namespace {

using testing::complaint_of;
using ::testing::Contains;
using testing::expect_goes_on_from_eighths;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;
using testing::run_on;

const std::string mesh =
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
    "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n"
    "  network: {model: analytical, message_overhead: 300 ns}\n";
// Messages that leave a device by one link go one after the other there.
const std::string cluster =
    "  topology: {kind: cluster, nodes: 2, accelerators: 4, nics: 4,\n"
    "    switch: {bandwidth: 8 GB/s, latency: 100 ns}, nic: {bandwidth: 4 GB/s, latency: 200 ns},\n"
    "    port: {bandwidth: 2 GB/s, latency: 300 ns}, fabric: {kind: switch}}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
    "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n"
    "  network: {model: analytical, message_overhead: 300 ns}\n";
const std::string roofline = "  compute: {model: roofline}\n";
const std::string gemm = "  compute: {model: gemm, tiles: [16x16], launch_overhead: 1 us}\n";

Files experiment_of(const std::string& workload, const std::string& machine) {
  return {{"lab/experiment.yaml", "name: whole\nmachine:\n  name: mesh\n" + machine +
                                      "run: {trace: none}\nworkload:\n  kind: serving\n" +
                                      workload}};
}

std::string model_of(int layers) {
  return "{layers: " + std::to_string(layers) +
         ", hidden: 64, heads: 4, sequence: 128, vocabulary: 64, biases: false, normalisation: "
         "rms_norm, positions: rotary, tie_embeddings: false}";
}

// Over four tiles.
std::string one(const std::string& all_reduce, const std::string& more = "") {
  return "  all_reduce: " + all_reduce + "\n  tenants:\n    - language_model: " + model_of(3) +
         "\n      tensor: 4\n      npus: [5, 0, 3, 6]\n      batching: {chunk: 24" + more +
         "}\n      requests: {arrivals: gamma, rate: 20000, count: 30, prompt: [4, 60], "
         "generate: [1, 9]}\n      target: {first_token: 400 us}\n";
}

// And one beside it on the others, whose cache is too small.
std::string two(const std::string& all_reduce, const std::string& more = "") {
  return one(all_reduce, more) + "    - name: beside\n      language_model: " + model_of(2) +
         "\n      tensor: 2\n      npus: [1, 7]\n      batching: {block: 4, cache: 8 KiB}\n"
         "      requests: {arrivals: closed, clients: 5, count: 12, think: 50 us, prompt: 20, "
         "generate: 6}\n";
}

void expect_same(const trace::Quantiles& walked, const trace::Quantiles& whole,
                 const std::string& what) {
  EXPECT_EQ(walked.count, whole.count) << what;
  EXPECT_EQ(walked.mean, whole.mean) << what;
  EXPECT_EQ(walked.p50, whole.p50) << what;
  EXPECT_EQ(walked.p99, whole.p99) << what;
  EXPECT_EQ(walked.most, whole.most) << what;
}

void expect_same(const std::string& workload, const std::string& machine, const std::string& what) {
  const trace::Summary walked = run_on(1, read(experiment_of(workload, machine)));
  const trace::Summary whole =
      run_on(1, read(experiment_of("  steps: whole\n" + workload, machine)));
  ASSERT_EQ(whole.status, "finished") << what;
  EXPECT_EQ(walked.simulated_time_ps, whole.simulated_time_ps) << what;
  EXPECT_EQ(walked.achieved_flops_per_s, whole.achieved_flops_per_s) << what;
  ASSERT_EQ(walked.services.size(), whole.services.size());
  for (std::size_t i = 0; i < walked.services.size(); ++i) {
    const trace::Service& a = walked.services[i];
    const trace::Service& b = whole.services[i];
    expect_same(a.first_token, b.first_token, what);
    expect_same(a.between_tokens, b.between_tokens, what);
    expect_same(a.latency, b.latency, what);
    EXPECT_EQ(a.served, b.served) << what;
    EXPECT_EQ(a.again, b.again) << what;
    EXPECT_EQ(a.late_requests, b.late_requests) << what;
    EXPECT_EQ(a.cache_blocks, b.cache_blocks) << what;
  }
  ASSERT_EQ(walked.breakdown.size(), whole.breakdown.size());
  for (std::size_t i = 0; i < walked.breakdown.size(); ++i) {
    EXPECT_EQ(walked.breakdown[i].mean_ps, whole.breakdown[i].mean_ps) << what << ", group " << i;
  }
  EXPECT_LT(whole.events * 5, walked.events) << what;
}

TEST(WholeSteps, TakeAsLongAsWalkedOnesWhereNothingIsShared) {
  for (const std::string& name : collective::algorithms().names()) {
    expect_same(two(name), mesh + roofline, name);
  }
  expect_same(two("ring"), mesh + gemm, "gemm");
  expect_same(two("ring", ", host: 20 us"), mesh + gemm, "with a host");
  expect_same(two("direct"), mesh + "  compute: {model: systolic, array: [8, 8]}\n", "systolic");
}

TEST(WholeSteps, TakeAsLongAsWalkedOnesWhereMessagesOfADeviceGoOneAfterTheOther) {
  for (const std::string& name : collective::algorithms().names()) {
    expect_same(one(name), cluster + roofline, name);
    expect_same(one(name), cluster + gemm, name + ", gemm");
  }
}

// Each sends to all others at once: were ports not shared, that would take a third of the time.
TEST(WholeSteps, TakeAsLongAsWalkedOnesWhereExpertsAreSpread) {
  const auto spread = [](const char* units) {
    return "  tenants:\n    - language_model: {layers: 3, hidden: 64, heads: 4, sequence: 128, "
           "vocabulary: "
           "64, experts: {count: 8, top_k: 2, ffn: 64}}\n      expert: 4\n      npus: " +
           std::string(units) +
           "\n      batching: {chunk: 24}\n      requests: {arrivals: gamma, rate: 20000, count: "
           "30, prompt: [4, 60], generate: [1, 9]}\n";
  };
  expect_same(spread("[1, 0, 3, 2]"), mesh + gemm, "mesh");
  expect_same(spread("[1, 0, 3, 2]"), cluster + gemm, "server");
  expect_same(spread("[5, 0, 3, 6]"), cluster + gemm, "servers");
}

// Tiles of two kinds, so that shards wait for the slower ones.
TEST(WholeSteps, TakeAsLongAsWalkedOnesWhereUnitsDiffer) {
  std::string mixed = mesh;
  mixed.insert(mixed.find("  dram:"),
               "  types:\n    slow: {nodes: [3], peak: {fp16: 0.1 TFLOP/s}}\n");
  expect_same(two("ring"), mixed + gemm, "types");
}

// Generated requests to a model of several stages, and how steps are put together and shared out.
std::string staged(const std::string& cut, const std::string& batching, int seed,
                   const std::string& more_of_model = "") {
  std::string model = model_of(4);
  model.insert(model.size() - 1, more_of_model);
  return "  seed: " + std::to_string(seed) + "\n  tenants:\n    - language_model: " + model +
         "\n      " + cut + "\n      batching: {" + batching +
         "}\n      requests: {arrivals: gamma, rate: 30000, count: 24, prompt: [4, 60], generate: "
         "[1, 9]}\n      target: {first_token: 400 us}\n";
}

TEST(WholeSteps, TakeAsLongAsWalkedOnesOfSeveralStages) {
  int seed = 0;
  for (const char* const compute :
       {roofline.c_str(), gemm.c_str(), "  compute: {model: systolic, array: [8, 8]}\n"}) {
    for (const char* const cut :
         {"pipeline: 2", "pipeline: 3\n      npus: [5, 0, 3]", "pipeline: 4\n      replicas: 2",
          "tensor: 2\n      pipeline: 4", "tensor: 4\n      pipeline: 2",
          "pipeline: 2\n      replicas: 3\n      prefill: 1",
          "tensor: 2\n      pipeline: 2\n      replicas: 2\n      prefill: 1"}) {
      for (const char* const batching :
           {"chunk: 24", "host: 20 us", "chunk: 8, block: 4, cache: 40 KiB, sequences: 6"}) {
        expect_same(staged(cut, batching, ++seed), mesh + compute,
                    compute + std::string(cut) + ", " + batching);
      }
    }
  }
}

TEST(WholeSteps, TakeAsLongAsWalkedOnesOfStagesWithExpertsAndWindows) {
  expect_same(staged("pipeline: 4", "chunk: 24", 1, ", experts: {count: 8, top_k: 2, ffn: 64}"),
              mesh + gemm, "experts");
  expect_same(staged("pipeline: 2", "chunk: 24", 2,
                     ", attention: flash, causal: true, window: 20, pattern: [local, attention]"),
              mesh + gemm, "windows");
  std::string mixed = mesh;
  mixed.insert(mixed.find("  dram:"),
               "  types:\n    slow: {nodes: [2], peak: {fp16: 0.1 TFLOP/s}}\n");
  expect_same(staged("pipeline: 4", "chunk: 24", 3), mixed + gemm, "types");
}

// Ports of a cluster are shared: by what the host tells units of steps to come, and by caches.
TEST(WholeSteps, OfStagesDifferByWhatElseLeavesByTheirPorts) {
  const auto note = HasSubstr("do not wait at ports");
  int different = 0;
  for (const int seed : {4, 5, 6}) {
    for (const char* const cut :
         {"pipeline: 4", "pipeline: 4\n      npus: [1, 2, 3, 5]", "tensor: 2\n      pipeline: 2",
          "pipeline: 2\n      replicas: 2\n      prefill: 1"}) {
      const std::string work = staged(cut, "chunk: 24", seed);
      const trace::Summary walked = run_on(1, read(experiment_of(work, cluster + gemm)));
      const trace::Summary whole =
          run_on(1, read(experiment_of("  steps: whole\n" + work, cluster + gemm)));
      const auto time = static_cast<double>(walked.simulated_time_ps);
      EXPECT_NEAR(static_cast<double>(whole.simulated_time_ps), time, 0.02 * time) << cut;
      different += whole.simulated_time_ps == walked.simulated_time_ps ? 0 : 1;
      EXPECT_THAT(whole.notes, Contains(note)) << cut;
      EXPECT_THAT(walked.notes, Not(Contains(note))) << cut;
    }
  }
  EXPECT_GT(different, 0);
  const std::string mesh_work = "  steps: whole\n" + staged("pipeline: 4", "chunk: 24", 4);
  EXPECT_THAT(run_on(1, read(experiment_of(mesh_work, mesh + gemm))).notes, Not(Contains(note)));
}

// One step at a time goes through all stages.
TEST(WholeSteps, TakeAsLongAsWalkedOnesOfSharedStagesThatTakeTurns) {
  const std::string in_turn = "  scheduler: {policy: time-sharing}\n";
  for (const std::string& name : collective::algorithms().names()) {
    for (const char* const cut : {"tensor: 2\n      pipeline: 4", "tensor: 4\n      pipeline: 2"}) {
      expect_same(in_turn + "  all_reduce: " + name + "\n" + staged(cut, "chunk: 24", 5),
                  mesh + gemm, name + cut);
    }
  }
}

TEST(WholeSteps, OfStagesAreTheSameOnAnyNumberOfRanks) {
  for (const std::string& machine : {mesh, cluster}) {
    const Experiment experiment = read(
        experiment_of("  steps: whole\n" +
                          staged("tensor: 2\n      pipeline: 2\n      replicas: 2", "chunk: 24", 7),
                      machine + gemm));
    const trace::Summary expected = run_on(1, experiment);
    for (const int ranks : {2, 3, 4}) {
      const trace::Summary summary = run_on(ranks, experiment);
      EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
      EXPECT_EQ(summary.events, expected.events) << ranks;
    }
  }
}

TEST(WholeSteps, TakeAsLongAsWalkedOnesOfStagesByThePolicyDeadline) {
  const std::string policy = "  scheduler: {policy: deadline}\n";
  for (const char* const cut : {"pipeline: 4", "tensor: 2\n      pipeline: 4"}) {
    expect_same(policy + staged(cut, "chunk: 24", 9), mesh + gemm, cut);
  }
}

TEST(WholeSteps, OfStagesGoOnFromACheckpoint) {
  const Experiment experiment = read(experiment_of(
      "  steps: whole\n" + staged("tensor: 2\n      pipeline: 4", "chunk: 24, host: 5 us", 8),
      cluster + gemm));
  expect_goes_on_from_eighths(experiment, "tessera_whole_stages_checkpoint",
                              [](const trace::Summary& summary, const trace::Summary& expected) {
                                EXPECT_EQ(summary.services.at(0).latency.p99,
                                          expected.services.at(0).latency.p99);
                              });
}

TEST(WholeSteps, AreTheSameOnAnyNumberOfRanks) {
  const Experiment experiment =
      read(experiment_of("  steps: whole\n" + two("halving-doubling"), mesh + gemm));
  const trace::Summary expected = run_on(1, experiment);
  EXPECT_EQ(expected.services.at(0).served, 30U);
  for (const int ranks : {2, 3, 4}) {
    const trace::Summary summary = run_on(ranks, experiment);
    EXPECT_EQ(summary.result_digest, expected.result_digest) << ranks;
    EXPECT_EQ(summary.events, expected.events) << ranks;
  }
}

TEST(WholeSteps, CostEventsByRequestsAndNotByLayers) {
  const auto events = [](const std::string& cut, int layers) {
    const std::string one =
        "  steps: whole\n  tenants:\n    - language_model: " + model_of(layers) + "\n      " + cut +
        "\n      requests: {arrivals: closed, count: 20, prompt: 9, generate: "
        "5}\n";
    return run_on(1, read(experiment_of(one, mesh + roofline))).events;
  };
  EXPECT_EQ(events("tensor: 4", 1), events("tensor: 4", 9));
  EXPECT_EQ(events("pipeline: 4", 4), events("pipeline: 4", 12));
  // A step gives a token here; the last one tells four tiles.
  EXPECT_LT(events("tensor: 4", 1), 20U * 5 + 60);
  EXPECT_LT(events("pipeline: 4", 4), 20U * 5 + 60);
}

TEST(WholeSteps, GoOnFromACheckpoint) {
  const Experiment experiment =
      read(experiment_of("  steps: whole\n" + two("ring", ", host: 5 us"), mesh + gemm));
  expect_goes_on_from_eighths(experiment, "tessera_whole_checkpoint",
                              [](const trace::Summary& summary, const trace::Summary& expected) {
                                EXPECT_EQ(summary.services.at(0).latency.p99,
                                          expected.services.at(0).latency.p99);
                              });
}

TEST(WholeSteps, AreRefusedWhereSomethingIsShared) {
  const std::string requests =
      "\n      requests: {arrivals: closed, count: 1, prompt: 9, "
      "generate: 5}\n";
  const std::string head = "  steps: whole\n  tenants:\n    - language_model: " + model_of(4);
  EXPECT_THAT(complaint_of(experiment_of(head + requests +
                                             "    - name: beside\n"
                                             "      language_model: " +
                                             model_of(1) + requests,
                                         mesh + gemm)),
              HasSubstr("NPU 0 serves two tenants"));
}

}  // namespace
}  // namespace tessera::sim::serving_whole_test
