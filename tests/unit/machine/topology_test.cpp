#include "tessera/machine/topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "reading.hpp"

namespace tessera::machine::topology_test {
namespace {

using ::testing::ElementsAre;
using testing::grid_of;
using testing::star_of;
using testing::topology_of;
using testing::wafer_of;

// Directed links of each class from one node to another; equal both ways on every machine that is
// not told otherwise.
std::map<std::pair<EntityId, EntityId>, std::vector<int>> links_by_ends(const Topology& topology) {
  std::map<std::pair<EntityId, EntityId>, std::vector<int>> links;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    for (unsigned port = 0; port < topology.ports(EntityId(n)); ++port) {
      const Link link = topology.link(EntityId(n), port);
      if (link.to.valid()) {
        EXPECT_LT(link.to.value(), topology.nodes());
        EXPECT_NE(link.to, EntityId(n));
        links[{EntityId(n), link.to}].push_back(link.link_class);
      }
    }
  }
  return links;
}

void expect_symmetric(const Topology& topology) {
  const auto links = links_by_ends(topology);
  for (const auto& [ends, classes] : links) {
    const auto back = links.find({ends.second, ends.first});
    ASSERT_NE(back, links.end());
    EXPECT_EQ(back->second, classes);
  }
}

TEST(Topologies, AreTheKnownOnes) {
  EXPECT_THAT(
      topologies().names(),
      ElementsAre("cluster", "concentrated-mesh", "double-ring", "dragonfly", "fat-tree", "graph",
                  "hypercube", "mesh", "stack", "torus", "twisted-torus", "wafer"));
  for (const PartInfo& part : topologies().infos()) {
    EXPECT_FALSE(part.help.empty());
    EXPECT_FALSE(part.parameters.empty());
  }
}

// A mesh of R×C nodes has 2·(R·(C−1) + C·(R−1)) directed links.
TEST(Mesh, HasTheLinksOfItsShape) {
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{
           {1, 1}, {1, 2}, {2, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 5}, {8, 8}}) {
    const auto mesh = grid_of("mesh", rows, columns);
    EXPECT_EQ(mesh->nodes(), rows * columns);
    EXPECT_EQ(mesh->links(), 2 * (rows * (columns - 1) + columns * (rows - 1)));
    EXPECT_EQ(mesh->computing_nodes(), mesh->nodes());
    expect_symmetric(*mesh);
  }
}

// A ring of n nodes has 2·n directed links, but none for n = 1.
TEST(Torus, HasTheLinksOfItsShape) {
  const auto ring = [](int n) { return n == 1 ? 0 : 2 * n; };
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 1}, {1, 7}, {2, 2}, {2, 5}, {3, 5}}) {
    const auto torus = grid_of("torus", rows, columns);
    EXPECT_EQ(torus->links(), rows * ring(columns) + columns * ring(rows));
    expect_symmetric(*torus);
  }
}

TEST(Torus, OfTwoHasBothLinksBetweenTheSameNodes) {
  const auto torus = grid_of("torus", 1, 2);
  EXPECT_EQ(torus->link(EntityId(0), west).to, EntityId(1));
  EXPECT_EQ(torus->link(EntityId(0), east).to, EntityId(1));
  EXPECT_FALSE(torus->link(EntityId(0), north).to.valid());
  EXPECT_FALSE(torus->link(EntityId(0), south).to.valid());
}

TEST(Torus, ClosesItsRowsAndColumns) {
  const auto torus = grid_of("torus", 3, 5);
  EXPECT_EQ(torus->link(EntityId(0), west).to, EntityId(4));
  EXPECT_EQ(torus->link(EntityId(0), north).to, EntityId(10));
  EXPECT_EQ(torus->link(EntityId(14), east).to, EntityId(10));
  EXPECT_EQ(torus->link(EntityId(14), south).to, EntityId(4));
}

TEST(Mesh, NumbersNodesByRowsAndPortsByDirection) {
  const auto mesh = grid_of("mesh", 3, 5);
  const EntityId node(7);
  EXPECT_EQ(mesh->link(node, west).to, EntityId(6));
  EXPECT_EQ(mesh->link(node, east).to, EntityId(8));
  EXPECT_EQ(mesh->link(node, north).to, EntityId(2));
  EXPECT_EQ(mesh->link(node, south).to, EntityId(12));
  EXPECT_EQ(mesh->node_name(node), "tile (1,2)");
  EXPECT_EQ(mesh->position(node).x, 2);
  EXPECT_EQ(mesh->position(node).y, 1);
  EXPECT_EQ(mesh->default_routing(), "xy");
}

TEST(Mesh, StoresNothingPerNode) {
  const auto large = grid_of("mesh", 633, 633);
  EXPECT_EQ(large->nodes(), 400689U);
  EXPECT_LT(large->resident_bytes(), 1000U);
}

TEST(Topology, SmallestLatencyIsThatOfALinkThatExists) {
  EXPECT_EQ(grid_of("mesh", 3, 3)->smallest_latency(), SimTime::from_ps(2000));
  EXPECT_TRUE(grid_of("mesh", 1, 1)->smallest_latency().is_never());
  EXPECT_EQ(wafer_of(2, 2)->smallest_latency(), SimTime::from_ps(1000));
  EXPECT_EQ(star_of(3)->smallest_latency(), SimTime::from_ps(3000));
  // Tiles of one core have inter-tile links only; one tile alone has none.
  const std::string rest =
      "intra_tile: {bandwidth: 1 GB/s, latency: 1 ns}, inter_tile: {bandwidth: 1 GB/s, latency: 5 "
      "ns}}";
  EXPECT_EQ(topology_of("{kind: wafer, tiles: [2, 2], cores: [1, 1], " + rest)->smallest_latency(),
            SimTime::from_ps(5000));
  EXPECT_EQ(topology_of("{kind: wafer, tiles: [1, 1], cores: [2, 2], " + rest)->smallest_latency(),
            SimTime::from_ps(1000));
}

// Across the boundaries of 2×3 tiles of 2×3 cores: 1 of 3 row steps, 2 of 8 column steps.
TEST(Wafer, HasLinksOfItsOwnBetweenTiles) {
  const auto wafer = wafer_of(2, 3);
  EXPECT_EQ(wafer->nodes(), 4U * 9U);
  EXPECT_EQ(wafer->links(), 2U * (4 * 8 + 9 * 3));
  expect_symmetric(*wafer);
  std::map<int, int> links_of_class;
  for (const auto& [ends, classes] : links_by_ends(*wafer)) {
    ++links_of_class[classes.front()];
  }
  EXPECT_EQ(links_of_class[1], 2 * (4 * 2 + 9 * 1));
  EXPECT_EQ(links_of_class[0], 2 * (4 * 6 + 9 * 2));
  EXPECT_EQ(wafer->link_classes()[0].name, "intra_tile");
  EXPECT_EQ(wafer->link_classes()[1].name, "inter_tile");
  EXPECT_EQ(wafer->link(EntityId(2), east).link_class, 1);
  EXPECT_EQ(wafer->link(EntityId(3), east).link_class, 0);
  EXPECT_EQ(wafer->link(EntityId(9), south).link_class, 1);
  EXPECT_EQ(wafer->node_name(EntityId(9 * 3 + 4)), "core (1,1) of tile (1,1)");
}

}  // namespace
}  // namespace tessera::machine::topology_test
