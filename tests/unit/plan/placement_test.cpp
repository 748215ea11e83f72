#include "tessera/plan/placement/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::plan::placement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Cell = std::pair<std::uint32_t, std::uint32_t>;

machine::Machine machine_of(const std::string& flow) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", "topology: " + flow + "\n", diagnostics), "",
                          diagnostics);
  auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  return *std::move(machine);
}

machine::Machine mesh(int rows, int columns) {
  return machine_of("{kind: mesh, rows: " + std::to_string(rows) + ", columns: " +
                    std::to_string(columns) + ", bandwidth: 1 GB/s, latency: 1 ns}");
}

// Tiles of 4 x 4 cores.
machine::Machine wafer(int rows, int columns) {
  return machine_of("{kind: wafer, tiles: [" + std::to_string(rows) + ", " +
                    std::to_string(columns) +
                    "], cores: [4, 4], intra_tile: {bandwidth: 4 GB/s, latency: 1 ns}, "
                    "inter_tile: {bandwidth: 1 GB/s, latency: 1 ns}}");
}

RoleTrafficList no_traffic() {
  return {};
}

PlacementRequest request(std::uint32_t pipeline, std::uint32_t data, std::uint32_t tensor) {
  PlacementRequest request;
  request.degrees = {pipeline, data, tensor};
  return request;
}

std::uint32_t distance(const Cell& a, const Cell& b) {
  const auto apart = [](std::uint32_t x, std::uint32_t y) { return x > y ? x - y : y - x; };
  return apart(a.first, b.first) + apart(a.second, b.second);
}

TEST(RingOrder, VisitsEachCellOnceInSteps) {
  for (std::uint32_t rows = 1; rows <= 9; ++rows) {
    for (std::uint32_t columns = 1; columns <= 9; ++columns) {
      const std::vector<Cell> order = ring_order(rows, columns);
      ASSERT_EQ(std::set<Cell>(order.begin(), order.end()).size(), rows * columns);
      ASSERT_EQ(order.size(), rows * columns);
      std::uint32_t long_steps = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_LT(order[i].first, rows);
        ASSERT_LT(order[i].second, columns);
        const std::uint32_t step = distance(order[i], order[(i + 1) % order.size()]);
        EXPECT_LE(step, 2U) << rows << " x " << columns;
        long_steps += step == 2 ? 1 : 0;
      }
      if (rows > 1 && columns > 1) {
        EXPECT_EQ(long_steps, rows * columns % 2) << rows << " x " << columns;
      }
    }
  }
}

void expect_all_different(const Placement& placement) {
  const Degrees& degrees = placement.degrees();
  std::set<std::uint32_t> tiles;
  for (std::uint32_t stage = 0; stage < degrees.pipeline; ++stage) {
    for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
      for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
        const Role role{stage, replica, shard};
        const EntityId tile = placement.tile(role);
        tiles.insert(tile.value());
        const std::uint32_t number = placement.role_number(tile);
        EXPECT_EQ(number, placement.number(role));
        EXPECT_EQ(placement.role(number).stage, stage);
        EXPECT_EQ(placement.role(number).replica, replica);
        EXPECT_EQ(placement.role(number).shard, shard);
      }
    }
  }
  EXPECT_EQ(tiles.size(), degrees.tiles());
}

TEST(Placement, GivesEveryRoleItsOwnTile) {
  EXPECT_THAT(placements().names(),
              ElementsAre("given", "line", "linear", "optimized", "replicas", "s-shape"));
  const auto machine = wafer(5, 4);
  for (const std::string name : {"line", "linear", "replicas", "s-shape"}) {
    for (const auto& [p, d, t] : {std::array{1U, 1U, 1U},
                                  {8U, 2U, 4U},
                                  {20U, 4U, 4U},
                                  {5U, 8U, 8U},
                                  {3U, 5U, 3U},
                                  {10U, 1U, 16U}}) {
      const Placement placement = placements().at(name)(machine, request(p, d, t), no_traffic);
      expect_all_different(placement);
    }
  }
}

TEST(Placement, MarksUnusedNodes) {
  const auto machine = mesh(2, 3);
  const Placement placement = placements().at("linear")(machine, request(2, 2, 1), no_traffic);
  EXPECT_EQ(placement.role_number(EntityId(3)), 3U);
  EXPECT_EQ(placement.role_number(EntityId(4)), Placement::unused);
}

std::vector<std::uint32_t> stages_of(const Placement& placement) {
  std::vector<std::uint32_t> tiles;
  for (std::uint32_t stage = 0; stage < placement.degrees().pipeline; ++stage) {
    tiles.push_back(placement.tile({stage, 0, 0}).value());
  }
  return tiles;
}

TEST(Placement, LinesGoDownAndSnakesTurn) {
  const auto machine = mesh(3, 3);
  EXPECT_THAT(stages_of(placements().at("line")(machine, request(7, 1, 1), no_traffic)),
              ElementsAre(0, 3, 6, 1, 4, 7, 2));
  EXPECT_THAT(stages_of(placements().at("s-shape")(machine, request(7, 1, 1), no_traffic)),
              ElementsAre(0, 3, 6, 7, 4, 1, 2));
}

// A stage that fits a tile of a two-level machine takes one, although it would fit elsewhere.
TEST(Placement, StagesDoNotStraddleTiles) {
  const auto machine = wafer(2, 2);
  for (const std::uint32_t tensor : {16U, 8U, 4U, 3U}) {
    const Placement placement =
        placements().at("s-shape")(machine, request(4, 1, tensor), no_traffic);
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
      std::set<Cell> tiles;
      for (std::uint32_t shard = 0; shard < tensor; ++shard) {
        const EntityId core = placement.tile({stage, 0, shard});
        const machine::Grid grid = *machine.topology->grid();
        tiles.insert({grid.row_of(core) / 4, grid.column_of(core) / 4});
      }
      EXPECT_EQ(tiles.size(), 1U) << tensor;
    }
  }
}

TEST(Placement, TensorGroupsLieInTheShapesAskedFor) {
  const auto machine = mesh(8, 8);
  PlacementRequest asked = request(2, 2, 4);
  asked.group = {2, 4};
  asked.tensor_group = {1, 4};
  const Placement placement = placements().at("line")(machine, asked, no_traffic);
  expect_all_different(placement);
  const machine::Grid grid = *machine.topology->grid();
  for (std::uint32_t replica = 0; replica < 2; ++replica) {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      EXPECT_EQ(grid.row_of(placement.tile({0, replica, shard})), replica);
    }
  }
}

// Hops of each step around a ring of roles.
std::vector<std::uint32_t> ring_steps(const Placement& placement, const machine::Grid& grid,
                                      bool along_tensor) {
  const Degrees& degrees = placement.degrees();
  const std::uint32_t members = along_tensor ? degrees.tensor : degrees.data;
  const auto cell = [&](std::uint32_t member) {
    const EntityId tile = along_tensor ? placement.tile({0, 0, member % members})
                                       : placement.tile({0, member % members, 0});
    return Cell{grid.row_of(tile), grid.column_of(tile)};
  };
  std::vector<std::uint32_t> steps;
  for (std::uint32_t member = 0; member < members; ++member) {
    steps.push_back(distance(cell(member), cell(member + 1)));
  }
  return steps;
}

// PALM, Fig. 8: a tile of 4 x 4 cores. Near, a tensor group of four is a 2 x 2 square and data
// groups jump over a square; far, it is the other way round.
TEST(Placement, TensorMembersAreNearOrFar) {
  const auto machine = wafer(2, 2);
  const machine::Grid grid = *machine.topology->grid();
  PlacementRequest asked = request(4, 4, 4);
  const Placement near = placements().at("line")(machine, asked, no_traffic);
  EXPECT_THAT(ring_steps(near, grid, true), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(ring_steps(near, grid, false), ElementsAre(2, 2, 2, 2));
  asked.tensor_members = TensorMembers::far;
  const Placement far = placements().at("line")(machine, asked, no_traffic);
  expect_all_different(far);
  EXPECT_THAT(ring_steps(far, grid, true), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(ring_steps(far, grid, false), ElementsAre(1, 1, 1, 1));
}

// Eight of two replicas: near in 2 x 4, far with a row of the other replica between their two.
TEST(Placement, FarMembersOfEightStepOverTheOtherReplica) {
  const auto machine = wafer(2, 2);
  const machine::Grid grid = *machine.topology->grid();
  PlacementRequest asked = request(4, 2, 8);
  asked.tensor_group = {2, 4};
  EXPECT_THAT(ring_steps(placements().at("s-shape")(machine, asked, no_traffic), grid, true),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(ring_steps(placements().at("s-shape")(machine, asked, no_traffic), grid, false),
              ElementsAre(2, 2));
  asked.tensor_members = TensorMembers::far;
  const Placement far = placements().at("s-shape")(machine, asked, no_traffic);
  expect_all_different(far);
  EXPECT_THAT(ring_steps(far, grid, true), ElementsAre(1, 1, 1, 2, 1, 1, 1, 2));
  EXPECT_THAT(ring_steps(far, grid, false), ElementsAre(1, 1));
}

TEST(Placement, LinearSkipsSwitches) {
  const auto machine = machine_of(
      "{kind: graph, nodes: [{name: hub, kind: switch}, {name: gpu, count: 3}], links: [{from: "
      "gpu, to: hub, bandwidth: 1 GB/s, latency: 1 ns}]}");
  EXPECT_THAT(stages_of(placements().at("linear")(machine, request(3, 1, 1), no_traffic)),
              ElementsAre(1, 2, 3));
}

// Rows and columns of a replica: the first, and what is behind the last.
struct Box {
  Cell low;
  Cell high;
  friend bool operator==(const Box&, const Box&) = default;
};

Box box_of(const Placement& placement, const machine::Grid& grid, std::uint32_t replica) {
  Box box{{grid.rows, grid.columns}, {0, 0}};
  for (std::uint32_t stage = 0; stage < placement.degrees().pipeline; ++stage) {
    for (std::uint32_t shard = 0; shard < placement.degrees().tensor; ++shard) {
      const EntityId tile = placement.tile({stage, replica, shard});
      const Cell cell{grid.row_of(tile), grid.column_of(tile)};
      box.low = {std::min(box.low.first, cell.first), std::min(box.low.second, cell.second)};
      box.high = {std::max(box.high.first, cell.first + 1),
                  std::max(box.high.second, cell.second + 1)};
    }
  }
  return box;
}

// 8 x 10 cells in bands of three rows and of five: replicas of three stages of five tiles are
// rectangles in the first, and follow each other column by column in the second.
TEST(Placement, BandsKeepReplicasTogether) {
  const auto machine = mesh(8, 10);
  const machine::Grid grid = *machine.topology->grid();
  PlacementRequest asked = request(3, 5, 5);
  asked.band = 3;
  const Placement placement = placements().at("replicas")(machine, asked, no_traffic);
  expect_all_different(placement);
  EXPECT_EQ(box_of(placement, grid, 0), (Box{{0, 0}, {3, 5}}));
  EXPECT_EQ(box_of(placement, grid, 1), (Box{{0, 5}, {3, 10}}));
  EXPECT_EQ(box_of(placement, grid, 2), (Box{{3, 0}, {8, 3}}));
  EXPECT_EQ(box_of(placement, grid, 4), (Box{{3, 6}, {8, 9}}));
  EXPECT_EQ(placement.tile({0, 0, 3}), grid.node(0, 1));
  EXPECT_EQ(placement.tile({1, 0, 0}), grid.node(2, 1));
  EXPECT_EQ(placement.tile({2, 4, 4}), grid.node(7, 8));
}

// 11 x 10 cells in bands of three rows, the last of five: down the first column of replicas, up the
// second, and the three of the higher band from the east.
TEST(Placement, ReplicasInOrderOfColumnsAreEachBesideTheNext) {
  const auto machine = mesh(11, 10);
  const machine::Grid grid = *machine.topology->grid();
  PlacementRequest asked = request(3, 7, 5);
  asked.band = 3;
  asked.replica_order = ReplicaOrder::columns;
  const Placement placement = placements().at("replicas")(machine, asked, no_traffic);
  expect_all_different(placement);
  const std::vector<Box> boxes{{{0, 0}, {3, 5}},  {{3, 0}, {6, 5}},  {{3, 5}, {6, 10}},
                               {{0, 5}, {3, 10}}, {{6, 6}, {11, 9}}, {{6, 3}, {11, 6}},
                               {{6, 0}, {11, 3}}};
  for (std::uint32_t replica = 0; replica < boxes.size(); ++replica) {
    EXPECT_EQ(box_of(placement, grid, replica), boxes[replica]) << replica;
  }
}

// Rings: folded where replicas fill whole rows, else around the rectangle of replicas. The last is
// as near to the first as any other to the next one.
TEST(Placement, ReplicasInOrderOfARingCloseIt) {
  const auto machine = mesh(10, 15);
  const machine::Grid grid = *machine.topology->grid();
  PlacementRequest asked = request(3, 5, 10);
  asked.band = 2;
  asked.replica_order = ReplicaOrder::ring;
  const Placement rows = placements().at("replicas")(machine, asked, no_traffic);
  expect_all_different(rows);
  for (const auto& [replica, top] : {std::pair{0U, 0U}, {1U, 4U}, {2U, 8U}, {3U, 6U}, {4U, 2U}}) {
    EXPECT_EQ(box_of(rows, grid, replica), (Box{{top, 0}, {top + 2, 15}})) << replica;
  }
  asked.degrees = request(1, 8, 10).degrees;
  const auto square = mesh(8, 10);
  const machine::Grid field = *square.topology->grid();
  const Placement two = placements().at("replicas")(square, asked, no_traffic);
  EXPECT_EQ(box_of(two, field, 0), (Box{{0, 0}, {2, 5}}));
  EXPECT_EQ(box_of(two, field, 1), (Box{{0, 5}, {2, 10}}));
  EXPECT_EQ(box_of(two, field, 7), (Box{{2, 0}, {4, 5}}));
}

// As high as a square of a tensor group of five, or as there are rows.
TEST(Placement, BandsAreAsHighAsASquareOfATensorGroup) {
  const auto wide = mesh(6, 10);
  EXPECT_EQ(box_of(placements().at("replicas")(wide, request(3, 4, 5), no_traffic),
                   *wide.topology->grid(), 1),
            (Box{{0, 5}, {3, 10}}));
  const auto flat = mesh(2, 30);
  EXPECT_EQ(box_of(placements().at("replicas")(flat, request(2, 6, 5), no_traffic),
                   *flat.topology->grid(), 5),
            (Box{{0, 25}, {2, 30}}));
}

std::string complaint_of(const machine::Machine& machine, const std::string& name,
                         const PlacementRequest& asked) {
  try {
    placements().at(name)(machine, asked, no_traffic);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Placement, SaysWhatDoesNotFit) {
  const auto machine = mesh(4, 4);
  EXPECT_THAT(complaint_of(machine, "linear", request(17, 1, 1)),
              HasSubstr("= 17 tiles, but the machine has 16"));
  EXPECT_THAT(complaint_of(machine, "line", request(3, 1, 5)), HasSubstr("3 stages of 5 tiles"));
  PlacementRequest asked = request(2, 2, 2);
  asked.group = {3, 1};
  EXPECT_THAT(complaint_of(machine, "line", asked), HasSubstr("placement.group: 3 x 1"));
  asked.group = {1, 4};
  asked.degrees.pipeline = 5;
  EXPECT_THAT(complaint_of(machine, "line", asked), HasSubstr("5 groups of 1 x 4 do not fit"));
  asked = request(1, 3, 4);
  asked.band = 2;
  asked.replica_order = ReplicaOrder::ring;
  EXPECT_THAT(complaint_of(machine, "replicas", asked),
              HasSubstr("3 replicas of 4 tiles in bands"));
  asked = request(2, 2, 2);
  asked.band = 5;
  EXPECT_THAT(complaint_of(machine, "replicas", asked),
              HasSubstr("placement.band: 5 rows, but there are 4"));
  asked = request(2, 2, 2);
  asked.tensor_group = {2, 2};
  EXPECT_THAT(complaint_of(machine, "line", asked), HasSubstr("placement.tensor_group: 2 x 2"));
  const auto pair = machine_of(
      "{kind: graph, nodes: [{name: a, count: 2}], links: [{from: a, to: a, bandwidth: 1 GB/s, "
      "latency: 1 ns}]}");
  EXPECT_THAT(complaint_of(pair, "s-shape", request(2, 1, 1)), HasSubstr("use 'linear'"));
  EXPECT_THAT(complaint_of(pair, "replicas", request(2, 1, 1)),
              HasSubstr("'replicas' needs a mesh"));
}

// Two of four tiles of a two-level wafer of 8 x 8, those below, in any order.
TEST(Placement, LiesOnTheNodesThatMayBeUsed) {
  const auto machine = wafer(2, 2);
  PlacementRequest asked = request(2, 2, 8);
  for (std::uint32_t node = 64; node > 32; --node) {
    asked.nodes.emplace_back(node - 1);
  }
  for (const std::string name : {"line", "s-shape", "linear", "optimized", "replicas"}) {
    asked.optimization.moves = 2000;
    const Placement placement = placements().at(name)(machine, asked, no_traffic);
    expect_all_different(placement);
    for (const EntityId tile : placement.tiles()) {
      EXPECT_GE(tile.value(), 32U) << name;
    }
  }
  // As on a wafer of one row of tiles.
  const Placement here = placements().at("s-shape")(machine, asked, no_traffic);
  const Placement alone = placements().at("s-shape")(wafer(1, 2), request(2, 2, 8), no_traffic);
  for (std::uint32_t role = 0; role < 32; ++role) {
    EXPECT_EQ(here.tile(role).value(), alone.tile(role).value() + 32);
  }
  EXPECT_EQ(placements().at("linear")(machine, asked, no_traffic).tile(0), EntityId(63));

  asked.nodes.pop_back();
  EXPECT_THAT(complaint_of(machine, "line", asked), HasSubstr("tiles that are a rectangle of it"));
  EXPECT_THAT(complaint_of(machine, "linear", asked), HasSubstr("= 32 tiles, but there are 31"));
}

}  // namespace
}  // namespace tessera::plan::placement_test
