// Replicas that compute prompts, and those that generate, which come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_pools_test {
namespace {

using testing::complaint_of;
using ::testing::ElementsAre;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
const std::string prompt_rule =
    "      scaling: {prefill: {requests: 3, start_up: 100 us, idle: 500 us}}\n";
// 24 one shortly after the other, and one by itself much later.
const std::string burst = [] {
  std::string list = "      requests: {arrivals: list, list: [";
  for (int request = 0; request < 24; ++request) {
    list += "{at: " + std::to_string(20 * request) + " us, prompt: 60, generate: 20}, ";
  }
  return list + "{at: 20 ms, prompt: 60, generate: 20}]}\n";
}();

const std::string steady_rule = "      scaling: {requests: 2, start_up: 20 us, idle: 30 us";
const std::string both_rules = steady_rule + ", prefill: {requests: 2, idle: 10 us}}\n";
const std::string steady =
    "      requests: {arrivals: poisson, rate: 20000, count: 60, prompt: [4, 300], generate: [1, "
    "9]}\n";

// Of six replicas, those that `come_and_go` are off for most of the time and help all the same; the
// others are on. What is paid for, and what windows say, is the time that they are on.
void expect_follow_requests(const std::string& scaling, const std::set<std::size_t>& come_and_go) {
  for (const char* const steps : {"walked", "whole"}) {
    const trace::Summary summary = run_on(1, experiment_of(pools + scaling + burst, steps));
    ASSERT_EQ(summary.status, "finished");
    const trace::Service& total = summary.service_totals.at(0);
    EXPECT_EQ(total.served, 25U);
    const double end = static_cast<double>(summary.simulated_time_ps) * 1e-12;
    double on = 0;
    std::uint64_t helped = 0;
    for (std::size_t replica = 0; replica < 6; ++replica) {
      const trace::Service& one = summary.services.at(replica);
      on += one.on_s;
      if (!come_and_go.contains(replica)) {
        EXPECT_NEAR(one.on_s, end, 1e-12) << replica;
      } else {
        EXPECT_GT(one.on_s, 0) << replica;
        EXPECT_LT(one.on_s, end / 2) << replica;
        helped += one.served;
      }
    }
    EXPECT_GT(helped, 0U);
    EXPECT_NEAR(on, total.on_s, 1e-12);
    double least = 6;
    double most = 0;
    double in_windows = 0;
    for (const trace::ServiceWindow& window : total.windows) {
      in_windows += window.replicas * static_cast<double>(total.window_ps) * 1e-12;
      least = std::min(least, window.replicas);
      most = std::max(most, window.replicas);
    }
    EXPECT_NEAR(in_windows, on, 1e-9);
    EXPECT_LE(least, 6 - static_cast<double>(come_and_go.size()));
    EXPECT_LE(most, 6);
    EXPECT_GT(most, 4);
    ASSERT_TRUE(total.cost_a_million_tokens);
    EXPECT_NEAR(*total.cost_a_million_tokens,
                3 * total.on_s / 3600 / static_cast<double>(total.tokens) * 1e6,
                1e-9 * *total.cost_a_million_tokens);
  }
}

TEST(Pools, FollowRequests) {
  expect_follow_requests(rule, {3, 4, 5});
  expect_follow_requests(prompt_rule, {1});
  expect_follow_requests(
      "      scaling: {requests: 3, start_up: 100 us, idle: 500 us, prefill: {requests: 3}}\n",
      {1, 3, 4, 5});
}

// Two requests at once want two replicas, until keys and values of the first one are there: the
// second replica has nothing to do, and goes `idle` later.
TEST(Pools, OfPromptsHaveThemUntilTheyAreHandedOver) {
  constexpr double carried_s = 128.0 * 4 * 2 * 64 * 2 / 1e9;
  for (const char* const steps : {"walked", "whole"}) {
    for (const double idle_us : {0.0, 30.0}) {
      const trace::Summary summary = run_on(
          1,
          experiment_of("      replicas: 3\n      prefill: 2\n      scaling: {prefill: {requests: "
                        "1, start_up: 1 s, idle: " +
                            std::to_string(idle_us) +
                            " us}}\n      requests: {arrivals: list, list: [{at: 0 us, prompt: "
                            "128, generate: 2}, {at: 0 us, prompt: 128, generate: 200}]}\n",
                        steps));
      const trace::Service& first = summary.services.at(0);
      EXPECT_EQ(first.served, 2U);
      EXPECT_EQ(summary.services.at(1).served, 0U);
      const double computed_s =
          static_cast<double>(2 * first.first_token.mean - first.first_token.most) * 1e-12;
      const double handed_over_s = summary.services[1].on_s - idle_us * 1e-6 - computed_s;
      EXPECT_GE(handed_over_s, carried_s) << steps;
      EXPECT_LT(handed_over_s, 1.1 * carried_s) << steps;
    }
  }
}

// A request whose keys and values are under way is one of the replica that they go to, which stays.
TEST(Pools, ServeAsMuchOnRanks) {
  for (const std::string& scaling : {steady_rule + "}\n", both_rules}) {
    for (const std::string more : {"", "      handover: layers\n"}) {
      const Files files = experiment_of(pools + scaling + more + steady);
      const trace::Summary one = run_on(1, files);
      ASSERT_EQ(one.status, "finished");
      EXPECT_EQ(one.service_totals.at(0).served, 60U);
      EXPECT_LT(one.service_totals[0].on_s, 6 * static_cast<double>(one.simulated_time_ps) * 1e-12);
      for (const int ranks : {2, 3, 4}) {
        EXPECT_EQ(run_on(ranks, files).result_digest, one.result_digest)
            << scaling << more << ranks;
      }
    }
  }
}

TEST(Pools, GoOnFromCheckpoints) {
  for (const char* const steps : {"walked", "whole"}) {
    testing::expect_goes_on(read(experiment_of(pools + steady_rule + "}\n" + steady, steps)),
                            std::string("tessera_pools_") + steps);
    testing::expect_goes_on(read(experiment_of(pools + both_rules + steady, steps)),
                            std::string("tessera_both_pools_") + steps);
  }
  testing::expect_goes_on(
      read(experiment_of(pools + both_rules + "      handover: layers\n" + steady)),
      "tessera_both_pools_layers");
}

// Routers send nothing to those that are off, and all are used once they are there.
TEST(Pools, OfPromptsAreSentThoseThatTheyTake) {
  for (const std::string router : {"round-robin", "least-work", "prefix"}) {
    const auto served_with = [&](const std::string& scaling) {
      return run_on(1, experiment_of("      router: " + router + "\n" + pools + scaling + steady))
          .services.at(1)
          .served;
    };
    EXPECT_EQ(served_with("      scaling: {prefill: {requests: 1000}}\n"), 0U) << router;
    EXPECT_GT(served_with("      scaling: {prefill: {requests: 2}}\n"), 0U) << router;
  }
}

TEST(Pools, OfPromptsHaveTimesOfScaling) {
  const auto digest_of = [](const std::string& keys) {
    return run_on(1, experiment_of(pools + "      scaling: {" + keys + "}\n" + steady))
        .result_digest;
  };
  const std::string usual =
      digest_of("start_up: 20 us, idle: 30 us, prefill: {least: 1, requests: 2}");
  EXPECT_EQ(digest_of("prefill: {requests: 2, start_up: 20 us, idle: 30 us}"), usual);
  EXPECT_NE(digest_of("start_up: 20 us, idle: 30 us, prefill: {requests: 2, start_up: 90 us}"),
            usual);
}

TEST(Pools, OfPromptsSayWhatIsWrong) {
  const auto complaint = [](const std::string& lines) {
    return complaint_of(experiment_of(lines + steady));
  };
  EXPECT_THAT(
      complaint("      replicas: 2\n      scaling: {requests: 2, prefill: {requests: 2}}\n"),
      HasSubstr("scaling.prefill: the tenant has no replicas that compute prompts alone"));
  EXPECT_THAT(complaint(pools + "      scaling: {prefill: {requests: 2, least: 3}}\n"),
              HasSubstr("scaling.prefill.least: more than the 2 replicas that compute prompts"));
  EXPECT_THAT(complaint(pools + "      scaling: {prefill: {idle: 2 us}}\n"),
              HasSubstr("scaling.prefill.requests: missing"));
  EXPECT_THAT(complaint(pools + "      scaling: {least: 1, prefill: {requests: 2}}\n"),
              HasSubstr("scaling.requests: missing"));
  EXPECT_THAT(complaint("      replicas: 3\n      prefill: 1\n      scaling: {prefill: {requests: "
                        "2}}\n"),
              HasSubstr("scaling.prefill: is of several replicas that compute prompts"));
  EXPECT_THAT(
      complaint("      replicas: 3\n      prefill: 2\n      scaling: {requests: 2, prefill: "
                "{requests: 2}}\n"),
      HasSubstr("scaling.requests: is of several replicas that generate"));
}

TEST(Pools, OfPromptsNoteWhatHasNoEffect) {
  const auto notes = [](const std::string& keys) {
    std::vector<std::string> of_keys;
    for (const std::string& note :
         read(experiment_of(pools + "      scaling: {" + keys + "}\n" + steady)).notes) {
      if (note.find("has no effect") != std::string::npos) {
        of_keys.push_back(note);
      }
    }
    return of_keys;
  };
  EXPECT_THAT(notes("start_up: 1 us, prefill: {requests: 2}"), IsEmpty());
  EXPECT_THAT(
      notes("prefill: {requests: 2, least: 2}"),
      ElementsAre(HasSubstr("scaling.prefill has no effect with 'least' equal to the number")));
  EXPECT_THAT(
      notes("requests: 2, least: 4, prefill: {requests: 2}"),
      ElementsAre(HasSubstr("scaling.requests has no effect with 'least' equal to the number")));
  EXPECT_THAT(notes("idle: 2 us, prefill: {requests: 2, idle: 1 us}"),
              ElementsAre(HasSubstr("scaling.idle has no effect with")));
}

}  // namespace
}  // namespace tessera::sim::serving_pools_test
