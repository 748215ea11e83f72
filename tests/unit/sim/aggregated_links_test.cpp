// One tile that stands for its stage, beside every tile: links that collectives share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "files.hpp"
#include "run_on.hpp"

namespace tessera::sim::aggregated_links_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string model =
    "workload: {kind: transformer, layers: 4, hidden: 1024, heads: 4, sequence: 32, vocabulary: "
    "100, batch: 8}\n";
const std::string grid = "{kind: torus, rows: 4, columns: 4, bandwidth: 1 GB/s, latency: 10 ns}";

std::string servers(int count) {
  return "{kind: cluster, nodes: " + std::to_string(count) +
         ", accelerators: 4, nics: 4, switch: {bandwidth: 100 GB/s, latency: 100 ns}, nic: "
         "{bandwidth: 20 GB/s, latency: 1 us}, port: {bandwidth: 10 GB/s, latency: 1 us}, fabric: "
         "{kind: switch}}";
}

trace::Summary summary_of(const std::string& topology, const std::string& network,
                          const std::string& strategy, int ranks = 1) {
  return testing::run_on(
      ranks,
      testing::Files{{"lab/experiment.yaml",
                      "machine:\n  topology: " + topology +
                          "\n  tile: {peak: {fp16: 10 TFLOP/s}, sram: 0 B}\n  dram: {at: none}\n"
                          "  network: {" +
                          network + "}\n" + model + "strategy: {" + strategy +
                          "}\nrun: {trace: none}\n"}});
}

std::int64_t time_of(const std::string& topology, const std::string& network,
                     const std::string& strategy) {
  return summary_of(topology, network, strategy).iteration_time_ps;
}

// Weights that are gathered while sums of gradients go round have half of the links each, of one
// tile for all as of all. Without that the first two took 0.78 and 0.83 of their time.
TEST(AggregatedLinks, CollectivesBesideTheProgramShareThem) {
  for (const std::string strategy :
       {"data: 8, zero: 3, prefetch: none", "data: 8, zero: 3",
        "tensor: 4, data: 2, sequence_parallel: true, overlap_tensor: true"}) {
    const auto all = static_cast<double>(time_of(servers(2), "model: packet", strategy));
    const std::string stage = strategy + ", aggregation: stage";
    const trace::Summary one = summary_of(servers(2), "model: packet", stage);
    EXPECT_NEAR(static_cast<double>(one.iteration_time_ps) / all, 1, 0.02) << strategy;
    EXPECT_EQ(summary_of(servers(2), "model: packet", stage, 2).result_digest, one.result_digest);
  }
}

// A ring over servers goes at the pace of its cables, of which each message has one at a time.
TEST(AggregatedLinks, RingsOverServersGoAtThePaceOfCables) {
  const std::string strategy = "data: 8";
  const auto packet =
      static_cast<double>(time_of(servers(2), "model: packet, max_packets: 1", strategy));
  for (const std::string aggregation : {"none", "tensor", "stage"}) {
    const std::string given = strategy + ", aggregation: " + aggregation;
    const auto in_turn = static_cast<double>(time_of(servers(2), "model: analytical", given));
    const auto free =
        static_cast<double>(time_of(servers(2), "model: analytical, ports: free", given));
    EXPECT_NEAR(in_turn / packet, 1, 0.005) << aggregation;
    EXPECT_LT(free, 0.9 * packet) << aggregation;
    EXPECT_GT(time_of(servers(2), "model: analytical", given),
              time_of(servers(1), "model: analytical", "data: 4, aggregation: " + aggregation));
  }
}

// Where links are not shared, a run says how much longer that would take.
TEST(AggregatedLinks, WhatIsNotSharedIsSaid) {
  const auto said = Contains(HasSubstr("messages do not contend for all links of their routes"));
  for (const std::string aggregation : {"none", "tensor", "stage"}) {
    const std::string strategy = "tensor: 4, data: 2, aggregation: " + aggregation;
    const auto notes = [&](const std::string& topology, const std::string& network) {
      return summary_of(topology, network, strategy).notes;
    };
    EXPECT_THAT(notes(servers(2), "model: analytical, ports: shared"), Not(said));
    EXPECT_THAT(notes(servers(2), "model: packet"), Not(said));
    EXPECT_THAT(notes(grid, "model: analytical, ports: shared"), said);
    EXPECT_THAT(notes(grid, "model: analytical"), said);
    EXPECT_THAT(notes(grid, "model: flow"), Not(said));
  }
  EXPECT_THAT(
      summary_of(servers(2), "model: analytical, ports: free", "data: 8, aggregation: stage").notes,
      said);
}

// A library's times are of links that are shared.
TEST(AggregatedLinks, ALibraryWithoutEffectIsSaid) {
  const auto said = Contains(HasSubstr("machine.network.library has no effect"));
  const std::string strategy = "data: 8, aggregation: stage";
  const std::string network = "model: analytical, library: nccl";
  EXPECT_THAT(summary_of(servers(2), network, strategy).notes, Not(said));
  EXPECT_THAT(summary_of(servers(2), network + ", ports: free", strategy).notes, said);
  EXPECT_EQ(time_of(servers(2), network, strategy),
            time_of(servers(2), "model: packet, library: nccl", strategy));
}

}  // namespace
}  // namespace tessera::sim::aggregated_links_test
