// What follows from the shape of a machine and is not stored: the same as by its nodes and links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "reading.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine::large_machines_test {
namespace {

using testing::cluster_of;
using testing::cluster_text;
using testing::fat_tree;
using testing::grid_of;
using testing::machine_of;
using testing::topology_of;
using testing::wafer_of;

using Topologies = std::vector<std::unique_ptr<Topology>>;

const std::string channel = "bandwidth: 1 GB/s, latency: 1 ns}\n";

std::string stack_text(const std::string& shape, int dimensions) {
  std::string links;
  for (int d = 0; d < dimensions; ++d) {
    links += "{bandwidth: 1 GB/s, latency: " + std::to_string(9 - d) + " ns}, ";
  }
  return "{kind: stack, shape: " + shape + ", dimensions: [" + links + "]}";
}

Topologies small_ones() {
  Topologies all;
  for (const char* kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 7}, {5, 4}}) {
      all.push_back(grid_of(kind, rows, columns));
    }
  }
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 1}, {1, 3}, {2, 2}}) {
    all.push_back(wafer_of(rows, columns));
  }
  // One core a tile, and links between tiles that are the faster ones.
  all.push_back(topology_of(
      "{kind: wafer, tiles: [3, 2], cores: [1, 1], intra_tile: {bandwidth: 1 GB/s, latency: 1 "
      "ns}, inter_tile: {bandwidth: 1 GB/s, latency: 5 ns}}"));
  all.push_back(topology_of(
      "{kind: wafer, tiles: [1, 1], cores: [2, 3], intra_tile: {bandwidth: 1 GB/s, latency: 4 "
      "ns}, inter_tile: {bandwidth: 1 GB/s, latency: 2 ns}}"));
  for (const bool rails : {false, true}) {
    all.push_back(cluster_of(5, 4, 2, fat_tree(2, rails, 3)));
    all.push_back(cluster_of(1, 2, 1, fat_tree(1, rails, 1)));
  }
  all.push_back(cluster_of(3, 4, 4, "{kind: switch}"));
  all.push_back(topology_of(stack_text("Ring(2)_FC(3)_Switch(4)", 3)));
  all.push_back(topology_of(stack_text("Switch(2)_Ring(1)_Switch(3)_Ring(5)", 4)));
  all.push_back(topology_of(stack_text("Ring(1)", 1)));
  return all;
}

template <class Visit>
void visit_links(const Topology& topology, const Visit& visit) {
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    for (unsigned port = 0; port < topology.ports(EntityId(n)); ++port) {
      const Link link = topology.link(EntityId(n), port);
      if (link.to.valid()) {
        visit(EntityId(n), link);
      }
    }
  }
}

TEST(LargeMachines, CountLinksAndTilesAsThoseAreThere) {
  for (const auto& topology : small_ones()) {
    std::uint64_t links = 0;
    SimTime smallest = SimTime::never();
    visit_links(*topology, [&](EntityId, const Link& link) {
      ++links;
      smallest = std::min(smallest, topology->link_classes()[link.link_class].latency);
    });
    std::vector<EntityId> tiles;
    for (std::uint32_t n = 0; n < topology->nodes(); ++n) {
      if (topology->computes(EntityId(n))) {
        tiles.emplace_back(n);
      }
    }
    EXPECT_EQ(topology->links(), links);
    EXPECT_EQ(topology->smallest_latency(), smallest);
    EXPECT_EQ(topology->computing_nodes(), tiles.size());
    EXPECT_EQ(topology->computing_node_ids().listed(), tiles);
  }
}

TEST(LargeMachines, CountLinksThatAreLeft) {
  const Machine machine = machine_of(
      "topology: {kind: torus, rows: 2, columns: 3, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "faults: {links: [{from: 0, to: 3, dead: true}, {from: 0, to: 1, dead: true, directions: "
      "one}, {from: 1, to: 2, bandwidth: 50 %}]}\n");
  std::uint64_t links = 0;
  visit_links(*machine.topology, [&](EntityId, const Link&) { ++links; });
  EXPECT_EQ(machine.topology->links(), links);
  EXPECT_EQ(links, 2 * 3 * 4 - 4 - 1);
}

// [nodes] hops to a node: links lead both ways.
std::vector<std::uint32_t> hops_to(const Topology& topology, EntityId target) {
  std::vector<std::uint32_t> hops(topology.nodes(), std::numeric_limits<std::uint32_t>::max());
  std::vector<EntityId> open{target};
  hops[target.value()] = 0;
  for (std::size_t next = 0; next < open.size(); ++next) {
    const EntityId here = open[next];
    for (unsigned port = 0; port < topology.ports(here); ++port) {
      const EntityId to = topology.link(here, port).to;
      if (to.valid() && hops[to.value()] > hops[here.value()] + 1) {
        hops[to.value()] = hops[here.value()] + 1;
        open.push_back(to);
      }
    }
  }
  return hops;
}

// Fewest hops, then the lowest number.
void expect_nearest(const Machine& machine, const std::string& what) {
  std::vector<std::uint32_t> fewest(machine.topology->nodes(), node_limit);
  std::vector<std::uint32_t> nearest(machine.topology->nodes());
  for (std::uint32_t number = 0; number < machine.channels.size(); ++number) {
    const auto hops = hops_to(*machine.topology, machine.channels[number].node);
    for (std::size_t node = 0; node < hops.size(); ++node) {
      if (hops[node] < fewest[node]) {
        fewest[node] = hops[node];
        nearest[node] = number;
      }
    }
  }
  EXPECT_THAT(machine.channel_of, ::testing::ElementsAreArray(nearest)) << what;
}

TEST(LargeMachines, AreServedByTheNearestOfTheirEdges) {
  const std::vector<std::string> sides{"west", "east", "north", "south"};
  for (const char* kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 5}, {5, 1}, {2, 2}, {4, 7}, {7, 4}}) {
      for (unsigned some = 1; some < 16; ++some) {
        std::string edges;
        for (unsigned side = 0; side < sides.size(); ++side) {
          edges += (some >> side & 1U) != 0 ? sides[side] + ", " : "";
        }
        const std::string text = "topology: {kind: " + std::string(kind) +
                                 ", rows: " + std::to_string(rows) +
                                 ", columns: " + std::to_string(columns) +
                                 ", bandwidth: 1 GB/s, latency: 1 ns}\ndram: {at: edge, edges: [" +
                                 edges + "], " + channel;
        expect_nearest(machine_of(text), text);
      }
    }
  }
}

TEST(LargeMachines, HaveSwitchesThatAreServedByTheNearestTile) {
  std::vector<std::string> texts{cluster_text(3, 4, 4, "{kind: switch}"),
                                 stack_text("Switch(2)_Ring(3)_Switch(3)", 3)};
  for (const bool rails : {false, true}) {
    texts.push_back(cluster_text(5, 4, 2, fat_tree(2, rails, 3)));
  }
  for (const std::string& text : texts) {
    const Machine machine = machine_of("topology: " + text + "\ndram: {at: each, " + channel);
    EXPECT_EQ(machine.channels.size(), machine.topology->computing_nodes());
    expect_nearest(machine, text);
  }
}

TEST(LargeMachines, HaveChannelsOfTheirOnlyType) {
  const Machine machine = machine_of(
      "topology: {kind: mesh, rows: 2, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "types: {gpu: {peak: {fp16: 1 TFLOP/s}, nodes: [0, 1, 2, 3], dram: {bandwidth: 7 GB/s, "
      "latency: 3 ns}}}\n"
      "dram: {at: each, " +
      channel);
  ASSERT_EQ(machine.channels.size(), 4U);
  EXPECT_EQ(machine.channels[2].bandwidth, Bandwidth::bytes_per_second(7'000'000'000));
  EXPECT_EQ(machine.channels[2].node, EntityId(2));
}

TEST(NodeOrder, GoesThroughAGridInBlocks) {
  constexpr std::uint32_t side = 16;
  for (const Grid& grid : {Grid{1, 1}, Grid{16, 16}, Grid{17, 33}, Grid{40, 5}, Grid{3, 50}}) {
    std::vector<EntityId> nodes;
    for (std::uint32_t top = 0; top < grid.rows; top += side) {
      for (std::uint32_t left = 0; left < grid.columns; left += side) {
        for (std::uint32_t row = top; row < std::min(top + side, grid.rows); ++row) {
          for (std::uint32_t at = left; at < std::min(left + side, grid.columns); ++at) {
            nodes.push_back(grid.node(row, at));
          }
        }
      }
    }
    EXPECT_EQ(NodeOrder::in_blocks(grid).listed(), nodes);
  }
}

// Of some 268 million nodes. Lists of them would take a gigabyte each.
TEST(LargeMachines, TakeNoMemoryForTheirNodes) {
  constexpr std::size_t few_bytes = 4096;
  const std::string each = "dram: {at: each, " + channel;
  const std::string sides = ", rows: 16383, columns: 16383, bandwidth: 1 GB/s, latency: 1 ns}\n";
  std::vector<std::string> texts;
  for (const std::string kind : {"mesh", "torus"}) {
    texts.push_back("topology: {kind: " + kind + sides);
    texts.push_back(texts.back() + each);
  }
  texts.push_back("topology: " + cluster_text(15'000'000, 8, 8, fat_tree(32, false, 32)) + "\n" +
                  each);
  texts.push_back("topology: " + stack_text("Ring(16383)_Switch(4000)_Ring(4)", 3) + "\n" + each);
  for (const std::string& text : texts) {
    const Machine machine = machine_of(text);
    EXPECT_LT(machine.resident_bytes(), few_bytes) << text;
    const Partition whole =
        partitioners().at(default_partitioner(*machine.topology))(*machine.topology, 1, {});
    EXPECT_EQ(whole.members.front().size(), machine.topology->nodes());
    EXPECT_EQ(whole.members.front().resident_bytes(), 0U);
    EXPECT_EQ(whole.owner.size(), machine.topology->nodes());
    EXPECT_EQ(whole.imbalance, 1);
  }
  const Machine edges = machine_of("topology: {kind: mesh" + sides +
                                   "dram: {at: edge, edges: [west, east], " + channel);
  EXPECT_EQ(edges.channels.size(), 2U * 16383);
  EXPECT_LT(edges.resident_bytes(), 4U * 16383 * sizeof(MemoryChannel));
}

// A little more than a million nodes, of which some weigh much.
TEST(LargeMachines, AreCutByBandsAsByNodes) {
  constexpr std::uint32_t rows = 1100;
  constexpr std::uint32_t columns = 1000;
  for (const char* kind : {"mesh", "torus"}) {
    const auto topology = grid_of(kind, rows, columns);
    Weights weights(topology->nodes(), 1);
    for (std::uint32_t node = 0; node < topology->nodes(); node += 54'321) {
      weights.set(node, 200'000);
    }
    for (const int ranks : {2, 5}) {
      const Partition cut = partitioners().at("blocks")(*topology, ranks, weights);
      ASSERT_TRUE(cut.owner.parts()) << kind;
      std::vector<std::uint64_t> sizes(cut.members.size());
      std::vector<std::uint64_t> loads(cut.members.size());
      std::uint64_t cut_links = 0;
      for (std::uint32_t node = 0; node < topology->nodes(); ++node) {
        ++sizes[cut.owner[node]];
        loads[cut.owner[node]] += weights[node];
      }
      visit_links(*topology, [&](EntityId node, const Link& link) {
        cut_links += cut.owner[node.value()] != cut.owner[link.to.value()] ? 1 : 0;
      });
      EXPECT_EQ(cut.cut_links, cut_links) << kind << ranks;
      EXPECT_EQ(loads_of(cut, weights), loads) << kind << ranks;
      for (std::uint32_t rank = 0; rank < sizes.size(); ++rank) {
        EXPECT_EQ(cut.members[rank].size(), sizes[rank]) << kind << ranks;
        EXPECT_EQ(cut.members[rank].listed().size(), sizes[rank]) << kind << ranks;
      }
      EXPECT_LT(cut.imbalance, 1.5) << kind << ranks;
    }
  }
}

// Runs of nodes, told by bands and by a list.
TEST(LargeMachines, AreCutInRunsAsByNodes) {
  for (const char* kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 9}, {9, 1}, {5, 7}, {6, 4}}) {
      const auto topology = grid_of(kind, rows, columns);
      Weights weights(topology->nodes(), 1);
      weights.set(0, 5);
      weights.set(topology->nodes() / 2, 9);
      weights.set(topology->nodes() - 1, 0);
      for (const auto& [name, order] : std::vector<std::pair<std::string, RunOrder>>{
               {"stripes", RunOrder::numbers}, {"columns", RunOrder::columns}}) {
        for (std::uint32_t ranks = 2; ranks <= topology->nodes(); ++ranks) {
          const Partition cut =
              partitioners().at(name)(*topology, static_cast<int>(ranks), weights);
          std::vector<std::uint64_t> loads;
          std::vector<std::uint32_t> nodes;
          for (std::uint32_t place = 0; place < topology->nodes(); ++place) {
            const Grid grid = *topology->grid();
            nodes.push_back(order == RunOrder::columns
                                ? grid.node(place % grid.rows, place / grid.rows).value()
                                : place);
            loads.push_back(weights[nodes.back()]);
          }
          const auto cuts = even_cuts(RunOfLoads(loads), ranks);
          std::vector<std::uint32_t> owner(topology->nodes());
          for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            for (std::uint32_t place = cuts[rank]; place < cuts[rank + 1]; ++place) {
              owner[nodes[place]] = rank;
            }
          }
          const Owners banded = banded_runs(*topology->grid(), cuts, order);
          EXPECT_EQ(cut.owner.listed(), owner) << name << ranks;
          EXPECT_EQ(banded.listed(), owner) << name << ranks;
          EXPECT_EQ(banded.parts()->cut_links(), cut.cut_links) << name << ranks;
        }
      }
    }
  }
}

// Where only some weigh more than the others, bands of these are vertices as they are.
TEST(LargeMachines, AreCutAsGraphsOfBands) {
  for (const char* kind : {"mesh", "torus"}) {
    const auto topology = grid_of(kind, 1100, 1000);
    Weights weights(topology->nodes(), 1);
    for (std::uint32_t node = 0; node < topology->nodes(); node += 154'321) {
      weights.set(node, 200'000);
    }
    const Partition cut = partitioners().at("metis")(*topology, 3, weights);
    ASSERT_TRUE(cut.owner.parts());
    EXPECT_LT(cut.imbalance, 1.35);
    EXPECT_LT(cut.cut_links, 20'000U);
    std::uint64_t cut_links = 0;
    visit_links(*topology, [&](EntityId node, const Link& link) {
      cut_links += cut.owner[node.value()] != cut.owner[link.to.value()] ? 1 : 0;
    });
    EXPECT_EQ(cut.cut_links, cut_links);
  }
  const auto large = grid_of("mesh", 2000, 2000);
  Weights diagonal(large->nodes(), 1);
  for (std::uint32_t at = 0; at < 2000; ++at) {
    diagonal.set(at * 2001, 7);
  }
  EXPECT_THROW(partitioners().at("metis")(*large, 2, diagonal), ConfigError);
}

// Lists of owners and weights would take gigabytes.
TEST(LargeMachines, AreCutWithoutALookAtTheirNodes) {
  const auto topology = grid_of("mesh", 16383, 16383);
  for (const char* name : {"columns", "stripes", "metis"}) {
    EXPECT_TRUE(partitioners().at(name)(*topology, 4, {}).owner.parts()) << name;
  }
  Weights weights(topology->nodes(), 1);
  weights.set(0, 1'000'000'000);
  const Partition cut = partitioners().at("blocks")(*topology, 4, weights);
  EXPECT_EQ(cut.owner[0], 0U);
  EXPECT_EQ(cut.owner[topology->nodes() - 1], 3U);
  std::size_t bytes = weights.resident_bytes();
  std::size_t nodes = 0;
  for (const NodeOrder& members : cut.members) {
    bytes += members.resident_bytes();
    nodes += members.size();
  }
  EXPECT_LT(bytes, 2U << 20);
  EXPECT_EQ(nodes, topology->nodes());
}

}  // namespace
}  // namespace tessera::machine::large_machines_test
