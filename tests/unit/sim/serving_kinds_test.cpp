// Runs of served models whose layers have windows or states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_kinds_test {
namespace {

using testing::Files;
using testing::run_on;

constexpr std::int64_t bandwidth = 64;  // GB/s

const std::string states = ", ssm: {state: 16, head_width: 16, chunk: 32}";

// Four layers of 64 numbers on two tiles.
Files experiment_of(const std::string& layers, const std::string& tenant) {
  return {
      {"lab/experiment.yaml",
       "name: kinds\nmachine:\n  name: mesh\n  topology: {kind: mesh, rows: 2, columns: 4, "
       "bandwidth: 4 GB/s, latency: 10 ns}\n"
       "  tile: {peak: {fp16: 100 TFLOP/s}, operands: dram}\n"
       "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 16 MB}\n"
       "  network: {model: packet}\n  compute: {model: roofline}\n"
       "run: {trace: none}\nworkload:\n  kind: serving\n  tenants:\n    - name: chat\n"
       "      language_model: {layers: 4, hidden: 64, heads: 4, sequence: 4096, vocabulary: 64, "
       "biases: false, normalisation: rms_norm, positions: rotary, attention: flash, causal: "
       "true, " +
           layers + "}\n" + tenant}};
}

// Between the tokens of one request behind a prompt.
std::int64_t between_tokens_ps(const std::string& layers, int prompt) {
  const trace::Summary summary = run_on(
      1, experiment_of(layers, "      requests: {arrivals: list, list: [{at: 0 us, prompt: " +
                                   std::to_string(prompt) + ", generate: 2}]}\n"));
  EXPECT_EQ(summary.status, "finished");
  return static_cast<std::int64_t>(summary.services.at(0).between_tokens.most);
}

// 256 B of keys and values of a token in each layer: behind 512 more of them a token takes as much
// longer as reading them takes, in layers that see all alone.
TEST(LayerKinds, ReadTheCacheThatTheySee) {
  constexpr std::int64_t of_layer = 512 * 256 * 1000 / bandwidth;
  const std::string windowed = "pattern: [local, local, local, attention], window: 64";
  EXPECT_EQ(between_tokens_ps("pattern: [attention]", 1023) -
                between_tokens_ps("pattern: [attention]", 511),
            4 * of_layer);
  EXPECT_EQ(between_tokens_ps(windowed, 1023) - between_tokens_ps(windowed, 511), of_layer);
  const std::string local = "pattern: [local], window: 64";
  EXPECT_EQ(between_tokens_ps(local, 1023), between_tokens_ps(local, 511));
  const std::string hybrid = "pattern: [ssm-alone, mlp-alone, ssm, attention-alone]" + states;
  EXPECT_EQ(between_tokens_ps(hybrid, 1023) - between_tokens_ps(hybrid, 511), of_layer);
}

// Many requests under way at a time, with a cache that is too small: none is lost, on any number of
// ranks, however the model is cut and whatever is handed over.
TEST(LayerKinds, ServeEachOnce) {
  const std::string requests =
      "      batching: {chunk: 128, cache: 400 kB}\n      requests: {arrivals: poisson, rate: "
      "20000, "
      "count: 30, prompt: [4, 300], generate: [1, 40], prefix: {tokens: 40, count: 2}}\n";
  const std::vector<std::string> models{
      "pattern: [local, local, local, attention], window: 64",
      "pattern: [ssm-alone, mlp-alone, ssm, local], window: 48" + states};
  for (const std::string& layers : models) {
    for (const std::string cut :
         {"tensor: 2", "pipeline: 2", "replicas: 2\n      prefill: 1\n      handover: layers",
          "replicas: 4\n      router: least-work\n      tensor: 2"}) {
      const Files files = experiment_of(layers, "      " + cut + "\n" + requests);
      const trace::Summary summary = run_on(1, files);
      ASSERT_EQ(summary.status, "finished") << cut;
      const trace::Service& service =
          summary.service_totals.empty() ? summary.services.at(0) : summary.service_totals.at(0);
      EXPECT_EQ(service.served, 30U);
      for (const int ranks : {2, 3, 4}) {
        EXPECT_EQ(run_on(ranks, files).result_digest, summary.result_digest)
            << layers << ", " << cut << ", " << ranks;
      }
    }
  }
}

// Of a request alone, on four tiles: a step of a model with windows differs from one without by
// three messages to each of them, in the prediction as in the run.
TEST(LayerKinds, MessagesOfStepsArePredicted) {
  const auto files = [](const std::string& layers) {
    return experiment_of(layers,
                         "      tensor: 4\n"
                         "      requests: {arrivals: list, list: [{at: 0 us, prompt: 64, "
                         "generate: 9}]}\n");
  };
  const auto predicted = [](const Files& some) {
    const auto events = predicted_events(testing::read(some));
    return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
  };
  const Files plain = files("pattern: [attention]");
  const Files windowed = files("pattern: [local], window: 4096");
  constexpr std::uint64_t steps = 9;
  constexpr std::uint64_t predicted_steps = 10;  // the first token is counted with the others
  const std::uint64_t run_plain = run_on(1, plain).events;
  const std::uint64_t more = run_on(1, windowed).events - run_plain;
  EXPECT_GT(more, 0U);
  EXPECT_EQ((predicted(windowed) - predicted(plain)) * steps, more * predicted_steps);
  EXPECT_EQ(predicted(plain) / predicted_steps, run_plain / steps);
}

// What fits where requests share nothing, whose windows are kept once: 64 blocks of each of two
// layers, and of the two others the nine that a chunk and a window reach.
TEST(LayerKinds, CachesThatFitAreTaken) {
  const auto files = [](int blocks, const std::string& prefix) {
    return experiment_of(
        "pattern: [local, local, attention, attention], window: 64",
        "      batching: {chunk: 64, block: 16, cache: " + std::to_string(blocks * 16 * 256) +
            " B}\n      requests: {arrivals: list, list: [{at: 0 us, prompt: " +
            "1000, generate: 24" + prefix + "}]}\n");
  };
  const trace::Summary summary = run_on(1, files(2 * 64 + 2 * 9, ""));
  EXPECT_EQ(summary.status, "finished");
  EXPECT_THAT(testing::complaint_of(files(2 * 64 + 2 * 9 - 1, "")),
              ::testing::HasSubstr("does not fit"));
  EXPECT_THAT(testing::complaint_of(files(2 * 64 + 2 * 9, ", prefix: p, prefix_tokens: 500")),
              ::testing::HasSubstr("does not fit"));
}

}  // namespace
}  // namespace tessera::sim::serving_kinds_test
