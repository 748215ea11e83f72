// Models of all kinds whose caches go to the memory behind and come back, in whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "files.hpp"
#include "fleet.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_moved_test {
namespace {

using testing::Files;
using testing::read;
using testing::run_on;

const std::string host = "  host: {bandwidth: 10 GB/s, latency: 1 us}\n";
const std::string experts = "experts: {count: 8, top_k: 2, ffn: 32}";

std::string model_with(const std::string& more) {
  return "{layers: 2, hidden: 64, heads: 4, sequence: 512, vocabulary: 64, biases: false, "
         "normalisation: rms_norm, positions: rotary, tie_embeddings: false, " +
         more + "}";
}

Files experiment_of(const std::string& memory, const std::string& model, const std::string& rest) {
  Files files = fleet::experiment_of(memory, rest);
  std::string& text = files.begin()->second;
  const std::string key = "language_model: ";
  const std::size_t begin = text.find(key) + key.size();
  text.replace(begin, text.find('\n', begin) - begin, model);
  return files;
}

struct Kind {
  std::string model;
  std::string cache;
  std::string more;  // of the tenant
};

// Two or three of six sequences have room at a time.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {model_with("mlp: swiglu"), "96 KiB", ""},
      {model_with(experts), "96 KiB", ""},
      {model_with("latent: {q_rank: 32, kv_rank: 16, nope_width: 16, rope_width: 8, value_width: "
                  "16}"),
       "16 KiB", ""},
      {model_with("latent: {q_rank: 32, kv_rank: 16, nope_width: 16, rope_width: 8, value_width: "
                  "16}, " +
                  experts),
       "16 KiB", ""},
      {"{layers: 2, hidden: 64, sequence: 512, vocabulary: 64, biases: false, normalisation: "
       "rms_norm, positions: none, pattern: [ssm-alone], ssm: {state: 16, head_width: 16, chunk: "
       "32}}",
       "24 KiB", "      classes: [{name: urgent, priority: -1, share: 0.3}, {name: other}]\n"},
      {model_with(experts), "80 KiB", "      expert: 2\n"}};
  return all;
}

std::string tenant_of(const Kind& kind) {
  const std::string order =
      kind.more.find("classes") == std::string::npos ? "" : ", order: priority";
  return kind.more + "      batching: {cache: " + kind.cache + ", block: 16, chunk: 64" + order +
         ", tier: {capacity: 256 KiB}}\n"
         "      requests: {arrivals: poisson, rate: 200000, count: 30, prompt: [4, 90], generate: "
         "[1, 30], prefix: {tokens: 32, count: 3}}\n";
}

TEST(MovedCaches, AreOfModelsOfAllKinds) {
  for (const std::string& memory :
       {fleet::mesh + fleet::remote("10 GB/s", "1 us"), fleet::with_pool, fleet::mesh + host}) {
    std::uint64_t again = 0;
    for (const Kind& kind : kinds()) {
      const Files files = experiment_of(memory, kind.model, tenant_of(kind));
      const trace::Summary one = run_on(1, files);
      ASSERT_EQ(one.status, "finished") << kind.model;
      EXPECT_EQ(one.services.at(0).latency.count, 30U);
      again += one.services.at(0).again;
      for (const int ranks : {2, 3}) {
        EXPECT_EQ(run_on(ranks, files).result_digest, one.result_digest) << kind.model << ranks;
      }
    }
    EXPECT_GT(again, 0U);
  }
}

TEST(MovedCaches, GoOnFromACheckpoint) {
  const Kind& spread = kinds().back();
  testing::expect_goes_on(read(experiment_of(fleet::mesh + host, spread.model, tenant_of(spread))),
                          "tessera_moved_spread");
}

}  // namespace
}  // namespace tessera::sim::serving_moved_test
