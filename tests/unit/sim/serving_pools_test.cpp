// Replicas that generate and come and go, beside those that compute prompts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_pools_test {
namespace {

using testing::Files;
using testing::read;
using testing::run_on;

Files experiment_of(const std::string& tenant, const std::string& steps = "walked") {
  return {
      {"lab/experiment.yaml",
       "name: pools\nmachine:\n  name: mesh\n  topology: {kind: mesh, rows: 2, columns: 4, "
       "bandwidth: 1 GB/s, latency: 10 ns}\n"
       "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
       "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 4 MB}\n"
       "  network: {model: packet}\n  compute: {model: roofline}\n"
       "run: {trace: none}\nworkload:\n  kind: serving\n  steps: " +
           steps +
           "\n  tenants:\n    - name: chat\n"
           "      language_model: {layers: 4, hidden: 64, heads: 4, sequence: 512, vocabulary: 64, "
           "biases: false, normalisation: rms_norm, positions: rotary}\n"
           "      batching: {chunk: 128}\n"
           "      price: 3\n" +
           tenant}};
}

const std::string pools = "      replicas: 6\n      prefill: 2\n";
const std::string rule = "      scaling: {requests: 3, start_up: 100 us, idle: 500 us}\n";
// 24 at once, and one by itself much later.
const std::string burst = [] {
  std::string list = "      requests: {arrivals: list, list: [";
  for (int request = 0; request < 24; ++request) {
    list += "{at: 0 us, prompt: 60, generate: 20}, ";
  }
  return list + "{at: 20 ms, prompt: 60, generate: 20}]}\n";
}();

const std::string steady =
    "      scaling: {requests: 2, start_up: 20 us, idle: 30 us}\n"
    "      requests: {arrivals: poisson, rate: 20000, count: 60, prompt: [4, 300], generate: [1, "
    "9]}\n";

// Those that compute prompts and the first one that generates are on all the time.
TEST(Pools, ThatGenerateFollowRequests) {
  for (const char* const steps : {"walked", "whole"}) {
    const trace::Summary summary = run_on(1, experiment_of(pools + rule + burst, steps));
    ASSERT_EQ(summary.status, "finished");
    const trace::Service& total = summary.service_totals.at(0);
    EXPECT_EQ(total.served, 25U);
    const double end = static_cast<double>(summary.simulated_time_ps) * 1e-12;
    double on = 0;
    std::uint64_t helped = 0;
    for (std::size_t replica = 0; replica < 6; ++replica) {
      const trace::Service& one = summary.services.at(replica);
      on += one.on_s;
      if (replica < 3) {
        EXPECT_NEAR(one.on_s, end, 1e-12) << replica;
      } else {
        EXPECT_GT(one.on_s, 0) << replica;
        EXPECT_LT(one.on_s, end / 2) << replica;
        helped += one.served;
      }
    }
    EXPECT_GT(helped, 0U);
    EXPECT_NEAR(on, total.on_s, 1e-12);
    double most = 0;
    double in_windows = 0;
    for (const trace::ServiceWindow& window : total.windows) {
      in_windows += window.replicas * static_cast<double>(total.window_ps) * 1e-12;
      most = std::max(most, window.replicas);
    }
    EXPECT_NEAR(in_windows, on, 1e-9);
    EXPECT_LE(most, 6);
    EXPECT_GT(most, 4);
    ASSERT_TRUE(total.cost_a_million_tokens);
    EXPECT_NEAR(*total.cost_a_million_tokens,
                3 * total.on_s / 3600 / static_cast<double>(total.tokens) * 1e6,
                1e-9 * *total.cost_a_million_tokens);
  }
}

// A request whose keys and values are under way is one of the replica that they go to, which stays.
TEST(Pools, ServeAsMuchOnRanks) {
  for (const std::string more : {"", "      handover: layers\n"}) {
    const Files files = experiment_of(pools + more + steady);
    const trace::Summary one = run_on(1, files);
    ASSERT_EQ(one.status, "finished");
    EXPECT_EQ(one.service_totals.at(0).served, 60U);
    EXPECT_LT(one.service_totals[0].on_s, 6 * static_cast<double>(one.simulated_time_ps) * 1e-12);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, files).result_digest, one.result_digest) << more << ranks;
    }
  }
}

TEST(Pools, GoOnFromCheckpoints) {
  for (const char* const steps : {"walked", "whole"}) {
    testing::expect_goes_on(read(experiment_of(pools + steady, steps)),
                            std::string("tessera_pools_") + steps);
  }
}

}  // namespace
}  // namespace tessera::sim::serving_pools_test
