#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "placement/cost.hpp"
#include "placement/moves.hpp"
#include "wafer.hpp"

namespace tessera::plan::placement_optimized_test {
namespace {

using testing::cost_of;
using testing::on_wafer;
using testing::Planned;

const std::string optimized = "layout: optimized";

void expect_a_placement(const Planned& made) {
  const std::vector<EntityId>& tiles = made.plan.placement.tiles();
  EXPECT_EQ(tiles.size(), made.plan.strategy.degrees.tiles());
  EXPECT_EQ(std::set<EntityId>(tiles.begin(), tiles.end()).size(), tiles.size());
  for (const EntityId tile : tiles) {
    EXPECT_TRUE(made.machine.topology->computes(tile));
  }
}

// Cheapest of the layouts of rectangles, near and far.
Wide cheapest_layout(const std::string& degrees) {
  Wide cheapest = ~Wide{0};
  for (const std::string layout : {"line", "s-shape"}) {
    for (const std::string members : {"near", "far"}) {
      const Planned made = on_wafer(degrees, "layout: " + layout + ", tensor_members: " + members);
      cheapest = std::min(cheapest, cost_of(made));
    }
  }
  return cheapest;
}

TEST(PlacementOptimized, BeatsTheLayoutsOnTheWafer) {
  for (const std::string degrees :
       {"pipeline: 20, data: 2, tensor: 8", "pipeline: 12, data: 3, tensor: 8",
        "pipeline: 10, data: 4, tensor: 8", "pipeline: 5, data: 4, tensor: 16",
        "pipeline: 24, data: 1, tensor: 8"}) {
    const Planned made = on_wafer(degrees, optimized);
    expect_a_placement(made);
    EXPECT_LT(cost_of(made), cheapest_layout(degrees)) << degrees;
  }
}

TEST(PlacementOptimized, IsNeverWorseThanItsStart) {
  const std::string degrees = "pipeline: 6, data: 2, tensor: 8";
  for (const std::string start : {"line", "s-shape", "linear", "replicas"}) {
    const Wide begun = cost_of(on_wafer(degrees, "layout: " + start));
    const std::string keys = optimized + ", start: " + start;
    EXPECT_EQ(cost_of(on_wafer(degrees, keys + ", moves: 0")), begun) << start;
    for (const std::string moves : {"1", "300", "20000"}) {
      EXPECT_LE(cost_of(on_wafer(degrees, keys + ", moves: " + moves)), begun) << start;
    }
  }
}

// Of all named layouts, each in its orders. Here it is `replicas`: the others were up to half as
// much again.
TEST(PlacementOptimized, BeginsWithTheCheapestLayout) {
  const std::string machine =
      "topology: {kind: mesh, rows: 7, columns: 9, bandwidth: 50 GB/s, latency: 2 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\ndram: {at: none}\n";
  for (const std::string data : {"3", "6", "5"}) {
    const std::string tensor = data == "6" ? "2" : "4";
    const std::string pipeline = data == "5" ? "3" : "5";
    const std::string workload =
        "kind: transformer\nlayers: 22\nhidden: 96\nheads: 24\nsequence: 512\nvocabulary: 8192\n"
        "batch: 30\ndata_type: fp16\noptimizer: adam\n";
    const auto cost = [&](const std::string& placement) {
      return cost_of(testing::planned("{pipeline: " + pipeline + ", tensor: " + tensor +
                                          ", data: " + data + ", placement: {" + placement + "}}",
                                      machine, workload));
    };
    const Wide begun = cost(optimized + ", moves: 0");
    for (const std::string layout :
         {"linear", "replicas, replica_order: rows", "replicas, replica_order: columns"}) {
      EXPECT_LE(begun, cost("layout: " + layout)) << layout << ", " << data << " replicas";
    }
  }
}

TEST(PlacementOptimized, DependsOnTheSeedAlone) {
  const std::string degrees = "pipeline: 6, data: 3, tensor: 8";
  const std::string keys = optimized + ", moves: 20000, seed: ";
  const auto tiles = [&](const std::string& seed) {
    return on_wafer(degrees, keys + seed).plan.placement.tiles();
  };
  EXPECT_EQ(tiles("7"), tiles("7"));
  EXPECT_NE(tiles("7"), tiles("8"));
}

// Eight accelerators to a node, nodes joined by a slow switch: a tensor group of eight that begins
// across nodes ends up inside them.
TEST(PlacementOptimized, FindsTheNodesOfAGraph) {
  std::string machine =
      "topology: {kind: graph, nodes: [{name: spine, kind: switch}, {name: a, count: 4}, {name: b, "
      "count: 4}, {name: near_a, kind: switch}, {name: near_b, kind: switch}], links: [{from: a, "
      "to: near_a, bandwidth: 300 GB/s, latency: 1 ns}, {from: b, to: near_b, bandwidth: 300 GB/s, "
      "latency: 1 ns}, {from: near_a, to: spine, bandwidth: 25 GB/s, latency: 1 us}, {from: "
      "near_b, to: spine, bandwidth: 25 GB/s, latency: 1 us}]}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\n";
  // Shards 0 and 1 in one node, 2 and 3 in the other.
  const std::string apart = "[['a[0]', 'a[1]', 'b[0]', 'b[1]'], ['a[2]', 'a[3]', 'b[2]', 'b[3]']]";
  const Planned given = testing::planned(
      "{tensor: 4, pipeline: 2, placement: {layout: given, tiles: " + apart + "}}", machine);
  const Planned made =
      testing::planned("{tensor: 4, pipeline: 2, placement: {layout: optimized}}", machine);
  expect_a_placement(made);
  EXPECT_LT(cost_of(made), cost_of(given));
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    const bool in_a = made.plan.placement.tile({stage, 0, 0}).value() < 5;
    for (std::uint32_t shard = 1; shard < 4; ++shard) {
      EXPECT_EQ(made.plan.placement.tile({stage, 0, shard}).value() < 5, in_a);
    }
  }
}

// Every kind of move keeps the placement one, undoes itself, and changes the partial cost by what
// it changes the whole one.
TEST(PlacementCost, PartsChangeAsTheWhole) {
  const Planned made = on_wafer("pipeline: 6, data: 3, tensor: 8", "layout: s-shape");
  const Degrees& degrees = made.plan.strategy.degrees;
  const auto roles = static_cast<std::uint32_t>(degrees.tiles());
  PlacementCost cost(made.machine, traffic_of(made.plan), roles);
  RandomStream random(5, EntityId(0), 0);
  PlacementMoves moves(made.machine, made.plan.strategy.placement, cost, random);
  moves.set(made.plan.placement.tiles());
  EXPECT_EQ(cost.total(moves.tiles()), cost_of(made));
  unsigned done = 0;
  for (unsigned trial = 0; trial < 3000; ++trial) {
    const std::vector<EntityId> before = moves.tiles();
    const std::vector<std::uint32_t> changed = moves.propose();
    if (changed.empty()) {
      continue;
    }
    ASSERT_EQ(std::set<std::uint32_t>(changed.begin(), changed.end()).size(), changed.size());
    const Wide part = cost.of(moves.tiles(), changed);
    const Wide whole = cost.total(moves.tiles());
    moves.swap();
    const std::vector<EntityId> after = moves.tiles();
    ASSERT_EQ(std::set<EntityId>(after.begin(), after.end()).size(), after.size());
    ASSERT_NE(after, before);
    // As differences of unsigned numbers, which wrap.
    ASSERT_TRUE(cost.total(after) - whole == cost.of(after, changed) - part);
    if (trial % 2 == 0) {
      moves.swap();
      ASSERT_EQ(moves.tiles(), before);
    }
    ++done;
  }
  EXPECT_GT(done, 1000U);
}

}  // namespace
}  // namespace tessera::plan::placement_optimized_test
