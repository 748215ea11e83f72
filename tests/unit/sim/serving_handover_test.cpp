// Keys and values that are handed over whole, or layer by layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_handover_test {
namespace {

using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

// Four layers of 64 numbers, 256 B of keys and values of a token in each, on a mesh of four
// columns.
Files experiment_of(const std::string& bandwidth, const std::string& tenant, int rows = 1) {
  return {
      {"lab/experiment.yaml",
       "name: handover\nmachine:\n  name: mesh\n  topology: {kind: mesh, rows: " +
           std::to_string(rows) + ", columns: 4, bandwidth: " + bandwidth +
           ", latency: 10 ns}\n"
           "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
           "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}\n"
           "  network: {model: packet}\n  compute: {model: roofline}\n"
           "run: {trace: none}\nworkload:\n  kind: serving\n  tenants:\n    - name: chat\n"
           "      language_model: {layers: 4, hidden: 64, heads: 4, sequence: 512, vocabulary: 64, "
           "biases: false, normalisation: rms_norm, positions: rotary}\n" +
           tenant}};
}

constexpr std::int64_t layers = 4;
constexpr std::int64_t prompt = 256;
constexpr std::int64_t bytes = layers * prompt * 256;
constexpr std::int64_t message = 32;
constexpr std::int64_t latency_ps = 10'000;

struct Times {
  std::int64_t first_ps = 0;   // token
  std::int64_t second_ps = 0;  // after it
};

// One prompt on the first tile, which is the host, and its second token on the next.
Times one_request(const std::string& bandwidth, const std::string& handover) {
  const trace::Summary summary = run_on(
      1,
      experiment_of(bandwidth, "      replicas: 2\n      prefill: 1\n      handover: " + handover +
                                   "\n      requests: {arrivals: list, list: [{at: 0 us, "
                                   "prompt: 256, generate: 2}]}\n"));
  EXPECT_EQ(summary.status, "finished");
  const trace::Service& total = summary.service_totals.at(0);
  return {static_cast<std::int64_t>(total.first_token.most),
          static_cast<std::int64_t>(total.between_tokens.most)};
}

// Over a fast network each layer has come long before the prompt is computed: what is saved is the
// whole way of keys and values and of the word that they are there.
TEST(Handover, OfLayersIsHiddenByLaterLayers) {
  constexpr std::int64_t rate = 64;  // GB/s
  const Times whole = one_request("64 GB/s", "whole");
  const Times by_layers = one_request("64 GB/s", "layers");
  EXPECT_EQ(by_layers.first_ps, whole.first_ps);
  EXPECT_EQ(whole.second_ps - by_layers.second_ps,
            2 * latency_ps + (bytes + message) * 1000 / rate);
}

// Over a slow one all layers go one behind the other from the end of the first attention on: what
// is saved is the time from then to the first token, whatever the bandwidth.
TEST(Handover, OfLayersBeginsWithTheFirst) {
  const Times whole = one_request("1 GB/s", "whole");
  const Times by_layers = one_request("1 GB/s", "layers");
  const Times half_whole = one_request("500 MB/s", "whole");
  const Times half = one_request("500 MB/s", "layers");
  EXPECT_EQ(by_layers.first_ps, whole.first_ps);
  const std::int64_t saved = whole.second_ps - by_layers.second_ps;
  EXPECT_EQ(half_whole.second_ps - half.second_ps, saved);
  EXPECT_LT(saved, whole.first_ps);
  EXPECT_GT(saved, whole.first_ps * (layers - 1) / layers);
  // Eight words of the host go to the other tile or come from it.
  EXPECT_EQ(half.second_ps - by_layers.second_ps, (bytes + 8 * message) * 1000);
}

// Many requests at a time: none is lost, and all that was told comes (or the run ends with an
// error), cut by heads and in stages of different numbers of layers, on any number of ranks.
TEST(Handover, OfLayersServesEachOnce) {
  for (const std::string cut : {"tensor: 2", "pipeline: 2", "pipeline: 3"}) {
    const bool is_large = cut == "pipeline: 3";
    const std::string tenant =
        "      replicas: " + std::string(is_large ? "2" : "4") +
        "\n      prefill: " + (is_large ? "1" : "2") + "\n      handover: layers\n      " + cut +
        "\n      batching: {chunk: 128}\n      requests: {arrivals: poisson, rate: 20000, count: "
        "30, prompt: [4, 300], generate: [1, 5]}\n";
    const Files files = experiment_of("1 GB/s", tenant, 2);
    const trace::Summary summary = run_on(1, files);
    ASSERT_EQ(summary.status, "finished") << cut;
    const trace::Service& total = summary.service_totals.at(0);
    EXPECT_EQ(total.served, 30U);
    EXPECT_EQ(total.first_token.count, 30U);
    EXPECT_EQ(total.between_tokens.count + 30U, total.tokens);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, files).result_digest, summary.result_digest) << cut << ", " << ranks;
    }
  }
}

TEST(Handover, NeedsReplicasThatComputePromptsAlone) {
  const std::string requests =
      "      requests: {arrivals: closed, count: 2, prompt: 8, generate: 2}\n";
  const Experiment together =
      read(experiment_of("1 GB/s", "      handover: layers\n      replicas: 2\n" + requests));
  EXPECT_THAT(together.notes, ElementsAre(HasSubstr("handover has no effect with replicas that "
                                                    "all do the same")));
  EXPECT_THAT(
      testing::complaint_of(
          experiment_of("1 GB/s",
                        "      handover: layers\n      replicas: 2\n      prefill: 1\n" + requests),
          {"workload.steps=whole"}),
      HasSubstr("layers are handed over by steps that are walked"));
}

}  // namespace
}  // namespace tessera::sim::serving_handover_test
