// Fleets of more replicas than walked steps can tell apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_large_fleet_test {
namespace {

using testing::complaint_of;
using testing::expect_goes_on_from_eighths;
using testing::Files;
using ::testing::HasSubstr;
using testing::read;
using testing::run_on;

// Replicas of two tiles.
Files fleet(const std::string& replicas, const std::string& more,
            const std::string& steps = "whole", const std::string& rows = "10") {
  return {{"lab/experiment.yaml",
           "name: fleet\n"
           "machine:\n"
           "  topology: {kind: mesh, rows: " +
               rows +
               ", columns: 30, bandwidth: 64 GB/s, latency: 10 ns}\n"
               "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
               "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 1 MB}\n"
               "  network: {model: analytical, message_overhead: 300 ns}\n"
               "  compute: {model: roofline}\n"
               "run: {trace: none}\n"
               "workload:\n"
               "  kind: serving\n"
               "  steps: " +
               steps +
               "\n"
               "  tenants:\n"
               "    - name: chat\n"
               "      language_model: {layers: 1, hidden: 64, heads: 4, sequence: 128, vocabulary: "
               "64}\n"
               "      tensor: 2\n"
               "      replicas: " +
               replicas + "\n" + more}};
}

const std::string requests =
    "      requests: {arrivals: poisson, rate: 3000000, count: 450, prompt: [4, 60], generate: [1, "
    "9]}\n";

TEST(LargeFleets, GiveEachReplicaItsRequests) {
  const trace::Summary summary = run_on(1, fleet("150", requests));
  ASSERT_EQ(summary.services.size(), 150U);
  for (const trace::Service& service : summary.services) {
    EXPECT_EQ(service.served, 3U) << service.tenant;
  }
  ASSERT_EQ(summary.service_totals.size(), 1U);
  EXPECT_EQ(summary.service_totals[0].served, 450U);
}

// More of them than walked steps tell apart compute prompts alone.
TEST(LargeFleets, MayComputePromptsApart) {
  const Experiment experiment = read(fleet("150", "      prefill: 70\n" + requests));
  const trace::Summary expected = run_on(1, experiment);
  EXPECT_EQ(expected.service_totals.at(0).served, 450U);
  EXPECT_EQ(run_on(2, experiment).result_digest, expected.result_digest);
}

// A beginning that all share is known to whom one of them was sent.
TEST(LargeFleets, AreTheSameOnAnyNumberOfRanksAndGoOnFromCheckpoints) {
  for (const char* const router : {"least-work", "prefix"}) {
    const Experiment experiment = read(fleet(
        "150", "      router: " + std::string(router) +
                   "\n      requests: {arrivals: poisson, rate: 3000000, count: 450, prompt: [40, "
                   "60], generate: [1, 9], prefix: {count: 200, tokens: 32}}\n"));
    const trace::Summary expected = run_on(1, experiment);
    EXPECT_EQ(expected.service_totals.at(0).served, 450U);
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(run_on(ranks, experiment).result_digest, expected.result_digest) << ranks;
    }
    expect_goes_on_from_eighths(experiment, "tessera_large_fleet");
  }
}

TEST(LargeFleets, AreRefusedWhereMessagesDoNotTellTheirReplicasApart) {
  EXPECT_THAT(complaint_of(fleet("65", requests, "walked")),
              HasSubstr("65 tenants, each replica counted; at most 64 where steps are walked; with "
                        "'steps: whole' 4096"));
  EXPECT_EQ(complaint_of(fleet("64", requests, "walked")), "");
  const std::string adapted = "      adapters: {count: 4, rank: 2}\n" + requests;
  EXPECT_THAT(complaint_of(fleet("65", adapted, "walked")), HasSubstr("with 'steps: whole' 512"));
  EXPECT_EQ(complaint_of(fleet("512", adapted, "whole", "40")), "");
  EXPECT_THAT(complaint_of(fleet("513", adapted, "whole", "40")),
              HasSubstr("513 tenants, each replica counted; at most 512 with tiers or adapters"));
}

}  // namespace
}  // namespace tessera::sim::serving_large_fleet_test
