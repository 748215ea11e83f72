// Replicas of a served model, and how requests are shared out to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_replicas_test {
namespace {

using testing::complaint_of;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

// One tenant on a mesh of eight tiles.
Files experiment_of(const std::string& tenant, const std::string& steps = "whole") {
  return {
      {"lab/experiment.yaml",
       "name: replicas\nmachine:\n  name: mesh\n"
       "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n"
       "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
       "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n"
       "  network: {model: analytical}\n  compute: {model: roofline}\n"
       "run: {trace: none}\nworkload:\n  kind: serving\n  steps: " +
           steps +
           "\n  tenants:\n    - name: chat\n      language_model: {layers: 2, hidden: 64, heads: "
           "4, sequence: 512, vocabulary: 64, biases: false, normalisation: rms_norm, "
           "positions: rotary, tie_embeddings: false}\n" +
           tenant}};
}

const std::string poisson =
    "      requests: {arrivals: poisson, rate: 30000, count: 60, prompt: [4, 300], generate: [1, "
    "9]}\n";

TEST(Replicas, AreAskedInTurn) {
  const trace::Summary summary =
      run_on(1, experiment_of("      replicas: 3\n      tensor: 2\n" + poisson));
  ASSERT_EQ(summary.services.size(), 3U);
  for (std::size_t replica = 0; replica < 3; ++replica) {
    EXPECT_EQ(summary.services[replica].tenant, "chat." + std::to_string(replica));
    EXPECT_EQ(summary.services[replica].served, 20U);
  }
  EXPECT_EQ(summary.samples_per_iteration, 60U);
}

// All together.
std::uint64_t waits(const std::string& router) {
  const trace::Summary summary =
      run_on(1, experiment_of("      replicas: 4\n      router: " + router + "\n" + poisson));
  std::uint64_t all = 0;
  std::uint64_t served = 0;
  for (const trace::Service& service : summary.services) {
    all += service.first_token.mean * service.first_token.count;
    served += service.served;
  }
  EXPECT_EQ(served, 60U);
  return all;
}

TEST(Replicas, WithTheLeastWorkAreBetterThanInTurn) {
  EXPECT_LT(waits("least-work"), waits("round-robin"));
}

TEST(Replicas, AreTheSameWalkedAndOnRanks) {
  for (const std::string& requests :
       {poisson,
        std::string("      requests: {arrivals: closed, clients: 7, count: 40, think: 20 us, "
                    "prompt: [4, 300], generate: [1, 9]}\n")}) {
    const std::string tenant =
        "      replicas: 3\n      tensor: 2\n      router: least-work\n      npus: [4, 1, 2, 7, 0, "
        "5]\n" +
        requests;
    const trace::Summary whole = run_on(1, experiment_of(tenant));
    const trace::Summary walked = run_on(1, experiment_of(tenant, "walked"));
    EXPECT_EQ(whole.simulated_time_ps, walked.simulated_time_ps);
    for (std::size_t replica = 0; replica < 3; ++replica) {
      EXPECT_EQ(whole.services[replica].served, walked.services[replica].served);
      EXPECT_EQ(whole.services[replica].latency.mean, walked.services[replica].latency.mean);
    }
    for (const int ranks : {2, 4}) {
      EXPECT_EQ(run_on(ranks, experiment_of(tenant)).result_digest, whole.result_digest);
      EXPECT_EQ(run_on(ranks, experiment_of(tenant, "walked")).result_digest, walked.result_digest);
    }
  }
}

// Of all replicas together: what they say one by one, and each request once.
TEST(Replicas, AreToldTogether) {
  const std::string target =
      "      target: {first_token: 300 us, latency: 100 us}\n      price: 2\n";
  const trace::Summary summary =
      run_on(1, experiment_of("      replicas: 3\n      tensor: 2\n" + target + poisson));
  ASSERT_EQ(summary.service_totals.size(), 1U);
  const trace::Service& total = summary.service_totals[0];
  EXPECT_EQ(total.tenant, "chat");
  EXPECT_EQ(total.served, 60U);
  EXPECT_EQ(total.npus, 6U);
  std::uint64_t met = 0;
  std::uint64_t tokens = 0;
  std::uint64_t most = 0;
  for (const trace::Service& service : summary.services) {
    met += service.met;
    tokens += service.tokens;
    most = std::max(most, service.latency.most);
    EXPECT_EQ(service.npus, 2U);
  }
  EXPECT_EQ(total.met, met);
  EXPECT_GT(met, 0U);
  EXPECT_LT(met, 60U);
  EXPECT_EQ(total.tokens, tokens);
  EXPECT_EQ(total.latency.most, most);
  EXPECT_EQ(total.latency.count, 60U);
  const double hours = static_cast<double>(summary.simulated_time_ps) * 1e-12 / 3600;
  ASSERT_TRUE(total.cost_a_million_tokens);
  EXPECT_NEAR(*total.cost_a_million_tokens, 2 * 6 * hours * 1e6 / static_cast<double>(tokens),
              1e-9 * *total.cost_a_million_tokens);
  trace::ServiceWindow all;
  for (const trace::ServiceWindow& window : total.windows) {
    all.arrived += window.arrived;
    all.served += window.served;
    all.met += window.met;
    all.tokens += window.tokens;
    all.running += (window.running + window.waiting) * static_cast<double>(total.window_ps);
  }
  EXPECT_EQ(all.arrived, 60U);
  EXPECT_EQ(all.served, 60U);
  EXPECT_EQ(all.met, met);
  EXPECT_EQ(all.tokens, tokens);
  // Little's law: time in the system, added up.
  const double spent = static_cast<double>(total.latency.mean) * 60;
  EXPECT_NEAR(all.running, spent, 1e-3 * spent);
  EXPECT_TRUE(run_on(1, experiment_of(poisson)).service_totals.empty());
}

// Eight conversations, each with a beginning of its own.
TEST(Replicas, GetWhatBeginsAsBefore) {
  const auto reads = [](const std::string& router) {
    const trace::Summary summary = run_on(
        1, experiment_of("      replicas: 4\n      router: " + router +
                         "\n      requests: {arrivals: poisson, rate: 8000, count: 80, prompt: 40, "
                         "generate: 2, prefix: {tokens: 256, count: 8}}\n"));
    EXPECT_EQ(summary.service_totals.at(0).served, 80U);
    return summary.service_totals[0].first_token.mean;
  };
  EXPECT_LT(reads("prefix"), reads("round-robin"));
  EXPECT_LT(reads("prefix"), reads("least-work"));
}

// Some compute prompts, others generate: each request is served once, keys and values go over the
// network, and steps that generate are not held up by prompts.
TEST(Replicas, HandKeysAndValuesOver) {
  const std::string chunked = "      batching: {chunk: 128}\n";
  for (const char* const requests :
       {"{arrivals: poisson, rate: 20000, count: 24, prompt: [4, 300], generate: [1, 5]}",
        "{arrivals: closed, clients: 6, count: 16, prompt: [4, 300], generate: [1, 5]}"}) {
    const std::string tenant =
        "      replicas: 4\n      prefill: 2\n      tensor: 2\n      requests: " +
        std::string(requests) + "\n" + chunked;
    const trace::Summary walked = run_on(1, experiment_of(tenant, "walked"));
    ASSERT_EQ(walked.status, "finished");
    const trace::Service& total = walked.service_totals.at(0);
    EXPECT_EQ(total.served, walked.samples_per_iteration);
    EXPECT_EQ(total.first_token.count, total.served);
    EXPECT_EQ(total.latency.count, total.served);
    EXPECT_EQ(total.between_tokens.count + total.served, total.tokens);
    EXPECT_EQ(walked.services[0].between_tokens.count, 0U);
    EXPECT_EQ(walked.services[2].first_token.count, 0U);
    const trace::Summary whole = run_on(1, experiment_of(tenant));
    EXPECT_EQ(whole.service_totals.at(0).served, total.served);
    for (const int ranks : {3}) {
      EXPECT_EQ(run_on(ranks, experiment_of(tenant, "walked")).result_digest, walked.result_digest);
      EXPECT_EQ(run_on(ranks, experiment_of(tenant)).result_digest, whole.result_digest);
    }
  }
}

TEST(Replicas, OfOneKindAreNoTwo) {
  EXPECT_THAT(complaint_of(experiment_of("      replicas: 2\n      prefill: 2\n" + poisson)),
              HasSubstr("prefill: of 2 replicas, some must be left that generate"));
  EXPECT_THAT(complaint_of(experiment_of("      prefill: 1\n" + poisson)),
              HasSubstr("prefill: of 1 replicas"));
}

TEST(Replicas, NeedNpusOfTheirOwn) {
  EXPECT_THAT(complaint_of(experiment_of("      replicas: 5\n      tensor: 2\n" + poisson)),
              HasSubstr("the model takes 10 NPUs; the machine has 8"));
  EXPECT_THAT(complaint_of(experiment_of("      replicas: 2\n      npus: [0, 1, 2]\n" + poisson)),
              HasSubstr("the model takes 2 NPUs"));
  EXPECT_THAT(complaint_of(experiment_of("      router: best\n" + poisson)),
              HasSubstr("unknown name 'best'"));
}

}  // namespace
}  // namespace tessera::sim::serving_replicas_test
