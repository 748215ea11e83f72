// Plans of which a tile stands for others (`aggregation`): what they have in common with all tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "conforming.hpp"

namespace tessera::sim::aggregated_conformance_test {
namespace {

using testing::machine_of;
using testing::model;
using testing::no_trace;
using testing::summary_of;

std::string eight(const std::string& shape, const std::string& network) {
  return "machine:\n"
         "  topology: {kind: stack, shape: " +
         shape +
         ", dimensions: [{bandwidth: 10 GB/s, latency: 500 ns}]}\n"
         "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB}\n"
         "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n"
         "  network: {" +
         network +
         ", collective_overhead: 2 us, collective_member_overhead: 100 ns, collective_fill: 50 "
         "GB/s}\n";
}

std::int64_t time_of(const std::string& text, const std::string& aggregation) {
  return summary_of(text, {"strategy.aggregation=" + aggregation}).iteration_time_ps;
}

TEST(Conformance, PlansOfOneTileForOthersSendInTheSameTypes) {
  const std::string text =
      "machine:\n  topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 10 GB/s, latency: 20 "
      "ns}\n  tile: {peak: {fp16: 1 TFLOP/s, fp8: 2 TFLOP/s}, sram: 64 MiB}\n"
      "  dram: {at: each, bandwidth: 20 GB/s, latency: 50 ns}\n  network: {model: analytical}\n"
      "workload: {kind: transformer, layers: 8, hidden: 256, heads: 8, sequence: 128,\n"
      "  vocabulary: 512, batch: 16, product_type: mxfp8, moment_type: bf16}\n"
      "strategy: {pipeline: 2, tensor: 4, data: 2, zero: 1, sequence_parallel: true,\n"
      "  wires: {weights: mxfp8, gradients: fp8, tensor_gathers: fp8, tensor_sums: fp8}}\n" +
      no_trace;
  const trace::Summary whole = summary_of(text);
  for (const std::string aggregation : {"tensor", "stage"}) {
    const trace::Summary one = summary_of(text, {"strategy.aggregation=" + aggregation});
    EXPECT_EQ(one.iteration_time_ps, whole.iteration_time_ps) << aggregation;
    EXPECT_EQ(one.collective_bytes, whole.collective_bytes) << aggregation;
  }
}

// Where messages share nothing and all ways are as long, a closed form is what it stands for.
TEST(Conformance, TilesThatStandForOthersOnASwitch) {
  for (const std::string strategy : {"tensor: 4, data: 2, zero: 3",
                                     "pipeline: 2, tensor: 2, data: 2, overlap_gradients: true"}) {
    const std::string text = eight("Switch(8)", "model: analytical") + model + "strategy: {" +
                             strategy + "}\n" + no_trace;
    const std::int64_t all = time_of(text, "none");
    EXPECT_EQ(time_of(text, "tensor"), all) << strategy;
    EXPECT_EQ(time_of(text, "stage"), all) << strategy;
  }
}

// Members leave a broadcast one after the other; who stands for all leaves it with the last.
TEST(Conformance, TilesThatStandForOthersLeaveBroadcastsLast) {
  const std::string text = eight("Switch(8)", "model: analytical") + model +
                           "strategy: {pipeline: 2, tensor: 4, boundary: broadcast}\n" + no_trace;
  const auto all = static_cast<double>(time_of(text, "none"));
  for (const std::string aggregation : {"tensor", "stage"}) {
    const auto ours = static_cast<double>(time_of(text, aggregation));
    EXPECT_GE(ours, all) << aggregation;
    EXPECT_LE(ours, 1.05 * all) << aggregation;
  }
}

// Shares of links are of networks that share links: here messages of all groups cross each other.
TEST(Conformance, TilesThatStandForOthersShareNothingOnAnalyticalNetworks) {
  const std::string text =
      eight("Ring(8)", "model: analytical") + model + "strategy: {data: 2, tensor: 4}\n" + no_trace;
  const std::vector<std::string> packet{"machine.network.model=packet",
                                        "strategy.aggregation=stage"};
  EXPECT_LT(time_of(text, "stage"), summary_of(text, packet).iteration_time_ps);
}

// A channel that tiles share evenly has one part for whoever stands for others: the run says so.
TEST(Conformance, TilesThatStandForOthersGetThePartOfOneAndSaySo) {
  const std::string shared = "beside other stages (machine.memory.arbitration: fair";
  const std::string text =
      machine_of("model: analytical") + model + "strategy: {pipeline: 2, tensor: 4}\n" + no_trace;
  for (const std::string arbitration : {"fair", "first-come"}) {
    for (const std::string aggregation : {"none", "tensor", "stage"}) {
      const std::vector<std::string> notes =
          summary_of(text, {"machine.memory={model: channel, arbitration: " + arbitration + "}",
                            "strategy.aggregation=" + aggregation})
              .notes;
      const bool said = std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
        return note.find(shared) != std::string::npos;
      });
      EXPECT_EQ(said, arbitration == "fair" && aggregation != "none")
          << arbitration << ", " << aggregation;
    }
  }
}

// Four in a row of a ring of eight: the way of the last to the first is three links long. A ring
// over them again and again goes at the mean of its ways, as members that are done early begin
// the next early. Alone each takes longer, by as much as the run is off at most.
TEST(Conformance, TilesThatStandForOthersKeepTheRingsPace) {
  for (const std::string strategy : {"tensor: 4", "pipeline: 2, tensor: 4", "tensor: 4, data: 2"}) {
    const std::string text =
        eight("Ring(8)", "model: analytical") + model + "strategy: {" + strategy + "}\n" + no_trace;
    const auto all = static_cast<double>(time_of(text, "none"));
    for (const std::string aggregation : {"tensor", "stage"}) {
      const double ratio = static_cast<double>(time_of(text, aggregation)) / all;
      EXPECT_LE(ratio, 1.0) << strategy << ", " << aggregation;
      EXPECT_GE(ratio, 0.995) << strategy << ", " << aggregation;
    }
  }
}

}  // namespace
}  // namespace tessera::sim::aggregated_conformance_test
