// Whole steps of served models whose operands stream from memory, beside the same steps walked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "run_on.hpp"
#include "stopped_runs.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::serving_streams_test {
namespace {

using testing::complaint_of;
using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read;
using testing::run_on;

const std::string each = "{at: each, bandwidth: 8 GB/s, latency: 100 ns, capacity: 8 MB}";
const std::string roofline = "  compute: {model: roofline}\n";
const std::string gemm = "  compute: {model: gemm, tiles: [16x16], launch_overhead: 1 us}\n";

// SRAM of which neither weights nor caches are a part.
std::string mesh_of(const std::string& dram, const std::string& network = "model: analytical") {
  return "  topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 4 GB/s, latency: 10 ns}\n"
         "  tile: {peak: {fp16: 100 GFLOP/s}, sram: 10 kB, sram_bandwidth: 64 GB/s}\n"
         "  dram: " +
         dram + "\n  network: {" + network + "}\n";
}

std::string model_of(int layers) {
  return "{layers: " + std::to_string(layers) +
         ", hidden: 64, heads: 4, sequence: 128, vocabulary: 64, biases: false, normalisation: "
         "rms_norm, positions: rotary, tie_embeddings: false}";
}

std::string tenant(const std::string& keys) {
  return "    - language_model: " + model_of(4) + "\n" + keys +
         "      batching: {chunk: 24}\n      requests: {arrivals: gamma, rate: 2000, count: 20, "
         "prompt: [4, 60], generate: [1, 9]}\n";
}

Files experiment_of(const std::string& steps, const std::string& tenants,
                    const std::string& machine) {
  return {{"lab/experiment.yaml", "name: streams\nmachine:\n  name: mesh\n" + machine +
                                      "run: {trace: none}\nworkload:\n  kind: serving\n  steps: " +
                                      steps + "\n  tenants:\n" + tenants}};
}

struct Both {
  trace::Summary walked;
  trace::Summary whole;
};

Both run_both(const std::string& tenants, const std::string& machine) {
  return {run_on(1, read(experiment_of("walked", tenants, machine))),
          run_on(1, read(experiment_of("whole", tenants, machine)))};
}

void expect_same(const std::string& tenants, const std::string& machine, const std::string& what) {
  const auto [walked, whole] = run_both(tenants, machine);
  ASSERT_EQ(whole.status, "finished") << what;
  EXPECT_EQ(walked.simulated_time_ps, whole.simulated_time_ps) << what;
  EXPECT_EQ(walked.memory_bytes, whole.memory_bytes) << what;
  ASSERT_EQ(walked.services.size(), whole.services.size());
  for (std::size_t i = 0; i < walked.services.size(); ++i) {
    EXPECT_EQ(walked.services[i].first_token.mean, whole.services[i].first_token.mean) << what;
    EXPECT_EQ(walked.services[i].latency.mean, whole.services[i].latency.mean) << what;
    EXPECT_EQ(walked.services[i].latency.most, whole.services[i].latency.most) << what;
  }
  ASSERT_EQ(walked.breakdown.size(), whole.breakdown.size());
  for (std::size_t i = 0; i < walked.breakdown.size(); ++i) {
    EXPECT_EQ(walked.breakdown[i].mean_ps, whole.breakdown[i].mean_ps) << what << ", group " << i;
  }
  EXPECT_LT(whole.events * 5, walked.events) << what;
}

double ratio(const Both& both) {
  return static_cast<double>(both.whole.services.at(0).latency.mean) /
         static_cast<double>(both.walked.services.at(0).latency.mean);
}

const std::string memories[] = {"", "  memory: {model: bandwidth}\n",
                                "  memory: {arbitration: fair, burst: 1000 B}\n",
                                "  memory: {burst: 100 B, max_bursts: 3}\n"};

TEST(StreamsOfWholeSteps, TakeAsLongAsWalkedOnesWhereEachTileHasItsOwnMemory) {
  for (const std::string& memory : memories) {
    expect_same(tenant("      tensor: 4\n"), mesh_of(each) + memory + gemm, memory);
    expect_same(tenant("      tensor: 2\n      pipeline: 2\n"), mesh_of(each) + memory + gemm,
                "stages" + memory);
    expect_same(tenant("      replicas: 2\n"), mesh_of(each) + memory + roofline,
                "replicas" + memory);
  }
  const std::string systolic = "  compute: {model: systolic, array: [8, 8]}\n";
  expect_same(tenant("      tensor: 2\n"), mesh_of(each) + systolic, "systolic");
  const auto [walked, whole] = run_both(tenant("      tensor: 4\n"), mesh_of(each) + gemm);
  EXPECT_GT(*whole.memory_bytes, 0);
  EXPECT_THAT(whole.notes, Not(Contains(HasSubstr("memory channel"))));
}

// One of two tiles computes so slowly that it does not wait for its memory.
TEST(StreamsOfWholeSteps, TakeAsLongAsWalkedOnesWhereTilesDiffer) {
  std::string mixed = mesh_of(each) + gemm;
  mixed.insert(mixed.find("  dram:"),
               "  types:\n    slow: {nodes: [1], peak: {fp16: 1 GFLOP/s}}\n");
  expect_same(tenant("      tensor: 2\n"), mixed, "types");
  std::string uneven = mesh_of(each) + gemm;
  uneven.insert(uneven.find("  dram:"),
                "  types:\n    starved: {nodes: [1], dram: {bandwidth: 1 GB/s, latency: 100 ns, "
                "capacity: 8 MB}}\n");
  expect_same(tenant("      tensor: 2\n"), uneven, "memories");
}

// Over links that are slower than the channel, of which another tile has its own.
TEST(StreamsOfWholeSteps, TakeAsLongAsWalkedOnesOverANetworkForThemselves) {
  const std::string west =
      "{at: edge, edges: [west], bandwidth: 8 GB/s, latency: 100 ns, capacity: 8 MB}";
  for (const char* network : {"model: analytical", "model: analytical, ports: shared",
                              "model: analytical, ports: shared, message_overhead: 300 ns"}) {
    for (const std::string& memory : memories) {
      expect_same(tenant("      npus: [2]\n"), mesh_of(west, network) + memory + gemm,
                  network + memory);
    }
  }
  const Both both = run_both(tenant("      npus: [2]\n"), mesh_of(west) + gemm);
  const Both packets = run_both(tenant("      npus: [2]\n"), mesh_of(west, "model: packet") + gemm);
  EXPECT_NEAR(ratio(packets), 1, 0.05);
  EXPECT_THAT(packets.whole.notes,
              Contains(HasSubstr("data that units stream crosses an otherwise idle network")));
  EXPECT_THAT(both.whole.notes, Not(Contains(HasSubstr("memory channel"))));
}

// Four tiles with one channel each take a fourth of it; walked ones are served one after the other,
// and wait for the last in their all-reduces: whole ones take 6 % longer here, as they have no
// latency beside what others stream.
TEST(StreamsOfWholeSteps, ShareAChannelEvenly) {
  const std::string one =
      "{at: nodes, nodes: [0], bandwidth: 1 GB/s, latency: 100 ns, capacity: 8 MB}";
  const Both both = run_both(tenant("      tensor: 4\n"), mesh_of(one) + gemm);
  EXPECT_NEAR(ratio(both), 1, 0.08);
  EXPECT_THAT(both.whole.notes,
              Contains(HasSubstr("units of a step that stream from the same memory channel")));
  EXPECT_THAT(both.whole.notes, Not(Contains(HasSubstr("do not slow each other down"))));
  EXPECT_THAT(both.walked.notes, Not(Contains(HasSubstr("memory channel"))));
  expect_same(tenant("      tensor: 4\n"), mesh_of(one) + memories[1] + gemm, "nothing shared");
}

TEST(StreamsOfWholeSteps, SayThatReplicasDoNotSlowEachOther) {
  const std::string one =
      "{at: nodes, nodes: [0], bandwidth: 1 GB/s, latency: 100 ns, capacity: 8 MB}";
  const Both both = run_both(tenant("      replicas: 2\n"), mesh_of(one) + gemm);
  EXPECT_LT(ratio(both), 1);
  EXPECT_THAT(
      both.whole.notes,
      Contains(HasSubstr("do not slow each other down where they stream from the same memory")));
}

TEST(StreamsOfWholeSteps, AreRefusedWhereAnAccessHasNoTimeByItself) {
  EXPECT_THAT(
      complaint_of(experiment_of(
          "whole", tenant(""), mesh_of(each) + "  memory: {model: dram, preset: LPDDR5}\n" + gemm)),
      HasSubstr("has no time of an access by itself"));
}

}  // namespace
}  // namespace tessera::sim::serving_streams_test
