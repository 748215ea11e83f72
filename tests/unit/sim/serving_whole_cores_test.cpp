// Whole steps of served models on NPU cores, beside steps whose operators the cores share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_whole_cores_test {
namespace {

using testing::complaint_of;
using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;
using testing::run_on;

// Eight cores, each with a memory of its own beside it.
const std::string machine =
    "name: cores\n"
    "machine:\n"
    "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
    "  dram: {at: each, bandwidth: 32 GB/s, latency: 100 ns, capacity: 4 MiB}\n"
    "  memory: {model: bandwidth}\n"
    "  network: {model: analytical}\n"
    "  compute: {model: npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 "
    "KiB}\n"
    "run: {trace: none}\n"
    "workload:\n"
    "  kind: serving\n";

Files experiment_of(const std::string& workload) {
  return {{"lab/experiment.yaml", machine + workload}};
}

const std::string grouped = ", kv_heads: 4";

std::string model_of(const std::string& more, const std::string& settings, int layers = 3) {
  return "  tenants:\n    - name: chat\n      language_model: {layers: " + std::to_string(layers) +
         ", hidden: 128, heads: 8, sequence: 128, vocabulary: 200" + more +
         "}\n      batching: {chunk: 16, block: 8}\n" + settings;
}

const std::string requests =
    "      requests: {arrivals: poisson, rate: 2000, count: 12, prompt: [10, 40], generate: [4, "
    "12]}\n";

trace::Summary run_of(const std::string& head, const std::string& tenants, int ranks = 1) {
  return run_on(ranks, read(experiment_of(head + tenants)));
}

// Fused kernels of cores and operators of tiles are cut otherwise, and cores that walk fill waits.
TEST(WholeStepsOfCores, TakeAboutAsLongAsWalkedOnes) {
  for (const char* const cut : {"  npu_cores: 1\n", "  npu_cores: 2\n", "  npu_cores: 8\n"}) {
    const std::string tenants = model_of(grouped, requests);
    const trace::Summary walked = run_of(cut, tenants);
    const trace::Summary whole = run_of(std::string(cut) + "  steps: whole\n", tenants);
    EXPECT_EQ(whole.services.at(0).served, walked.services.at(0).served);
    EXPECT_EQ(whole.services.at(0).tokens, walked.services.at(0).tokens);
    const auto ratio = [&](std::uint64_t one, std::uint64_t other) {
      return static_cast<double>(one) / static_cast<double>(other);
    };
    EXPECT_NEAR(ratio(whole.services.at(0).a_token.mean, walked.services.at(0).a_token.mean), 1,
                0.25)
        << cut;
    EXPECT_NEAR(
        ratio(whole.services.at(0).first_token.mean, walked.services.at(0).first_token.mean), 1,
        0.35)
        << cut;
    EXPECT_LT(20 * whole.events, walked.events) << cut;
  }
}

TEST(WholeStepsOfCores, CostNoEventsByLayers) {
  const auto events_of = [](int layers) {
    return run_of(
               "  npu_cores: 2\n  steps: whole\n",
               model_of(grouped,
                        "      requests: {arrivals: closed, count: 12, prompt: 20, generate: 8}\n",
                        layers))
        .events;
  };
  EXPECT_EQ(events_of(2), events_of(8));
}

TEST(WholeStepsOfCores, AreTheSameOnAnyNumberOfRanks) {
  const std::string tenants = model_of(grouped, "      tensor: 2\n      replicas: 2\n" + requests);
  const std::string head = "  npu_cores: 2\n  steps: whole\n";
  const std::string digest = run_of(head, tenants).result_digest;
  for (const int ranks : {2, 3, 4}) {
    EXPECT_EQ(run_of(head, tenants, ranks).result_digest, digest) << ranks;
  }
}

// What walked steps of cores do not have.
TEST(WholeStepsOfCores, ServeWhatTilesServe) {
  const std::string head = "  npu_cores: 2\n  steps: whole\n";
  for (const std::string& tenants :
       {model_of(grouped, "      replicas: 2\n      prefill: 1\n" + requests),
        model_of(grouped, "      adapters: {count: 4, rank: 4, loaded: 4}\n" + requests),
        model_of(", ffn: 64, experts: {count: 4, top_k: 2}", "      expert: 2\n" + requests),
        model_of(
            ", latent: {q_rank: 32, kv_rank: 16, nope_width: 16, rope_width: 8, value_width: 16}",
            requests)}) {
    EXPECT_EQ(run_of(head, tenants).services.back().served > 0, true) << tenants;
    EXPECT_THAT(complaint_of(experiment_of("  npu_cores: 2\n" + tenants)),
                HasSubstr("'steps: whole'"))
        << tenants;
  }
}

// Each has the channel for itself, which walked steps share.
TEST(WholeStepsOfCores, SayThatReplicasDoNotSlowEachOther) {
  std::string shared = machine;
  const auto put = [&shared](const std::string& there, const std::string& other) {
    shared.replace(shared.find(there), there.size(), other);
  };
  put("at: each", "at: nodes, nodes: [0]");
  put("{model: bandwidth}", "{model: channel}");
  const auto notes_of = [&](const std::string& replicas) {
    const std::string text = shared + "  npu_cores: 2\n  steps: whole\n" +
                             model_of(grouped, "      replicas: " + replicas + "\n" + requests);
    return run_on(1, read({{"lab/experiment.yaml", text}})).notes;
  };
  const auto note = HasSubstr("do not slow each other down where they stream from the same memory");
  EXPECT_THAT(notes_of("2"), Contains(note));
  EXPECT_THAT(notes_of("1"), Not(Contains(note)));
}

TEST(WholeStepsOfCores, HaveAllCoresOfTheirNpus) {
  EXPECT_THAT(complaint_of(experiment_of("  npu_cores: 2\n  steps: whole\n" +
                                         model_of(grouped, "      cores: 0-0\n" + requests))),
              HasSubstr("with 'steps: whole' a model has all cores of its NPUs"));
  EXPECT_THAT(complaint_of(
                  experiment_of("  npu_cores: 2\n  steps: whole\n  scheduler: {policy: spatial}\n" +
                                model_of(grouped, requests))),
              HasSubstr("which whole steps have all of an NPU"));
}

}  // namespace
}  // namespace tessera::sim::serving_whole_cores_test
