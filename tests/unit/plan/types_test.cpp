// Plans for machines whose tiles are of several types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan::types_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::planned;

// Two racks of four: the types of tiles in a rack, `fast` with 3 and `slow` with 1 TFLOP/s.
std::string machine_of(const std::string& first, const std::string& second,
                       const std::string& fast = "sram: 0 B", const std::string& slow = "sram: 0 B",
                       const std::string& dram = "at: none") {
  return "topology:\n"
         "  kind: graph\n"
         "  nodes: {a: {count: 4, type: [" +
         first + "]}, b: {count: 4, type: [" + second +
         "]}, hub: {kind: switch}}\n"
         "  links:\n"
         "    - {from: a, to: hub, bandwidth: 100 GB/s, latency: 1 ns}\n"
         "    - {from: b, to: hub, bandwidth: 100 GB/s, latency: 1 ns}\n"
         "types: {fast: {peak: {fp16: 3 TFLOP/s}, " +
         fast + "}, slow: {peak: {fp16: 1 TFLOP/s}, " + slow + "}}\ndram: {" + dram + "}\n";
}

std::vector<std::size_t> layers_of(const Plan& plan) {
  std::vector<std::size_t> counts;
  for (const Stage& stage : plan.stages) {
    counts.push_back(stage.chunks.front().end - stage.chunks.front().first);
  }
  return counts;
}

std::string complaint_of(const std::string& strategy, const std::string& machine) {
  try {
    planned(strategy, machine);
  } catch (const ConfigError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

const char* const two_stages = "pipeline: 2\ntensor: 2\ndata: 2\n";

TEST(PlannedTypes, StagesAreBalancedByTheirOwnTiles) {
  const auto mixed = planned(two_stages, machine_of("fast", "slow"));
  EXPECT_THAT(mixed.plan.stages[0].tile_types, ElementsAre(0));
  EXPECT_THAT(mixed.plan.stages[1].tile_types, ElementsAre(1));
  const auto turned = planned(two_stages, machine_of("slow", "fast"));
  const auto slow = planned(two_stages, machine_of("slow", "slow"));
  EXPECT_GT(layers_of(mixed.plan)[0], layers_of(slow.plan)[0]);
  EXPECT_LT(layers_of(turned.plan)[0], layers_of(slow.plan)[0]);
  EXPECT_LT(mixed.ideal_time(), slow.ideal_time());
}

// A stage waits for the slowest of its tiles.
TEST(PlannedTypes, AStageOfTwoTypesIsAsSlowAsTheSlower) {
  const auto mixed = planned(two_stages, machine_of("fast, slow", "slow"));
  const auto slow = planned(two_stages, machine_of("slow", "slow"));
  EXPECT_EQ(layers_of(mixed.plan), layers_of(slow.plan));
  EXPECT_EQ(mixed.ideal_time(), slow.ideal_time());
}

// What fits in the larger SRAM alone is in DRAM for both, where they are in one stage.
TEST(PlannedTypes, TheLeastSramCounts) {
  const std::string dram = "at: each, bandwidth: 1 TB/s, latency: 100 ns";
  const auto holds = [&](const std::string& first) {
    return planned(two_stages, machine_of(first, "fast", "sram: 1 GB", "sram: 1 kB", dram))
        .plan.stages[0]
        .memory.holds_weights;
  };
  EXPECT_TRUE(holds("fast"));
  EXPECT_FALSE(holds("slow"));
  EXPECT_FALSE(holds("fast, slow"));
}

TEST(PlannedTypes, RefusesWhatOneProgramCannotDo) {
  const std::string dram = "at: each, bandwidth: 1 TB/s, latency: 100 ns";
  EXPECT_THAT(complaint_of(two_stages,
                           machine_of("fast, slow", "slow", "operands: dram", "sram: 0 B", dram)),
              HasSubstr("stage 0 has tiles of type 'fast' and of type 'slow', of which only one"));
  EXPECT_EQ(
      complaint_of(two_stages, machine_of("fast", "slow", "operands: dram", "sram: 0 B", dram)),
      "");
}

TEST(PlannedTypes, NobodyStandsForAnotherType) {
  const std::string stage = std::string(two_stages) + "aggregation: stage\n";
  const std::string tensor = std::string(two_stages) + "aggregation: tensor\n";
  EXPECT_EQ(complaint_of(stage, machine_of("fast", "slow")), "");
  EXPECT_THAT(complaint_of(stage, machine_of("fast x 2, slow x 2", "slow")),
              HasSubstr("a[0], of type 'fast', cannot stand for a[2], of type 'slow'"));
  EXPECT_EQ(complaint_of(tensor, machine_of("fast x 2, slow x 2", "slow")), "");
  EXPECT_THAT(complaint_of(tensor, machine_of("fast, slow", "slow")),
              HasSubstr("a[0], of type 'fast', cannot stand for a[1], of type 'slow'"));
}

}  // namespace
}  // namespace tessera::plan::types_test
