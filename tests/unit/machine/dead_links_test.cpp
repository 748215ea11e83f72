// Ways around dead links of grids, and channels behind them, against searches over the whole grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reading.hpp"
#include "routing/shortest_on_grid.hpp"
#include "tessera/core/random.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::dead_links_test {
namespace {

using ::testing::HasSubstr;
using testing::machine_of;
using testing::Reading;

struct Shape {
  std::string topology;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const std::string kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<std::uint32_t, std::uint32_t>>{{5, 7}, {6, 4}, {2, 9}}) {
      shapes.push_back({"{kind: " + kind + ", rows: " + std::to_string(rows) + ", columns: " +
                            std::to_string(columns) + ", bandwidth: 1 GB/s, latency: 2 ns}",
                        rows, columns});
    }
  }
  shapes.push_back(
      {"{kind: wafer, tiles: [2, 3], cores: [3, 2], intra_tile: {bandwidth: 9 GB/s, "
       "latency: 1 ns}, inter_tile: {bandwidth: 1 GB/s, latency: 5 ns}}",
       6, 6});
  return shapes;
}

bool wraps(const Shape& shape) {
  return shape.topology.find("torus") != std::string::npos;
}

// Some links drawn by `seed`, dead in one direction or both, or slow; of tori also those that close
// rings.
std::string drawn_faults(const Shape& shape, std::uint64_t seed, std::uint64_t most = 6) {
  RandomStream draws(seed, EntityId(0), 0);
  std::string links;
  std::vector<bool> drawn(std::size_t{shape.rows} * shape.columns);
  const std::uint64_t beyond = wraps(shape) && shape.rows > 2 ? 0 : 1;
  for (std::uint64_t count = 1 + draws.next_below(most); count > 0; --count) {
    const std::uint64_t row = draws.next_below(shape.rows - beyond);
    const std::uint64_t column = draws.next_below(shape.columns - beyond);
    const std::uint64_t from = row * shape.columns + column;
    const std::uint64_t to = draws.next_below(2) == 0
                                 ? row * shape.columns + (column + 1) % shape.columns
                                 : (row + 1) % shape.rows * shape.columns + column;
    const bool backwards = draws.next_below(2) == 0;
    const std::string what = draws.next_below(5) == 0 ? "bandwidth: 50 %" : "dead: true";
    const std::string directions = draws.next_below(2) == 0 ? "both" : "one";
    if (!drawn[from]) {
      drawn[from] = true;
      links += std::string(links.empty() ? "" : ", ") +
               "{from: " + std::to_string(backwards ? to : from) +
               ", to: " + std::to_string(backwards ? from : to) + ", " + what +
               ", directions: " + directions + "}";
    }
  }
  return "faults: {links: [" + links + "]}\n";
}

// All columns of a grid are cut but in the first row.
std::string wall(const Shape& shape) {
  std::string links;
  for (std::uint32_t row = 1; row < shape.rows; ++row) {
    const std::uint32_t from = row * shape.columns + shape.columns / 2;
    links += std::string(row > 1 ? ", " : "") + "{from: " + std::to_string(from) +
             ", to: " + std::to_string(from + 1) + ", dead: true}";
  }
  return "faults: {links: [" + links + "]}\n";
}

// The same as a search over all.
void expect_same_ports(const Topology& topology, const ShortestOnGrid& routing, bool spread,
                       const std::string& what) {
  const ShortestPathRouting search(topology, spread);
  for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
    for (std::uint32_t from = 0; from < topology.nodes(); ++from) {
      ASSERT_TRUE(from == to || routing.next_port(EntityId(from), EntityId(to)) ==
                                    search.next_port(EntityId(from), EntityId(to)))
          << what << from << ' ' << to;
    }
  }
}

TEST(DeadLinks, HaveTheWaysOfASearchOverAll) {
  int machines = 0;
  for (const Shape& shape : shapes()) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const std::string text =
          "topology: " + shape.topology + "\n" + drawn_faults(shape, seed, seed % 3 == 0 ? 20 : 6);
      const Reading reading = testing::read(text);
      if (!reading.complaints.empty()) {
        EXPECT_THAT(reading.complaints.front(), HasSubstr("is cut off from the rest"));
        continue;
      }
      const Topology& topology = *reading.machine->topology;
      ASSERT_TRUE(ShortestOnGrid::fits(topology));
      for (const bool spread : {false, true}) {
        expect_same_ports(topology, ShortestOnGrid(topology, spread), spread, text);
      }
      ++machines;
    }
  }
  EXPECT_GT(machines, 100);
}

// A wall puts half of the grid further away from each target: what is kept has a bound.
TEST(DeadLinks, OfAWallKeepNoMoreThanABound) {
  const Shape shape{"{kind: mesh, rows: 40, columns: 40, bandwidth: 1 GB/s, latency: 2 ns}", 40,
                    40};
  const Machine machine = machine_of("topology: " + shape.topology + "\n" + wall(shape));
  const ShortestOnGrid routing(*machine.topology, false);
  expect_same_ports(*machine.topology, routing, false, "wall");
  EXPECT_LE(routing.kept(), ShortestOnGrid::most_kept);
  EXPECT_GT(routing.kept(), 0U);
}

TEST(DeadLinks, OfSmallGridsAreSearched) {
  const Machine small = machine_of("topology: " + shapes().front().topology + "\n");
  EXPECT_FALSE(ShortestOnGrid::pays(*small.topology));
}

// Too many nodes for tables: some pairs of nodes around the links.
TEST(DeadLinks, HaveTheWaysOfASearchOnLargeGrids) {
  const Machine machine = machine_of(
      "topology: {kind: torus, rows: 300, columns: 300, bandwidth: 1 GB/s, latency: 2 ns}\n"
      "faults: {links: [{from: 0, to: 1, dead: true}, {from: 300, to: 301, dead: true}, "
      "{from: 5, to: 305, dead: true}, {from: 6, to: 306, dead: true, directions: one}]}\n");
  const Topology& topology = *machine.topology;
  for (const bool spread : {false, true}) {
    const ShortestPathRouting search(topology, spread);
    const auto routing = make_routing(spread ? "ecmp" : "shortest", topology);
    for (const std::uint32_t to : {0U, 1U, 7U, 305U, 606U, 89999U}) {
      for (std::uint32_t from = 0; from < topology.nodes(); from += from < 1000 ? 1 : 97) {
        ASSERT_TRUE(from == to || routing->next_port(EntityId(from), EntityId(to)) ==
                                      search.next_port(EntityId(from), EntityId(to)))
            << from << ' ' << to;
      }
    }
  }
}

// The channel fewest hops away over links that are left, from the channel to the node.
std::vector<std::uint32_t> searched_channels(const Machine& machine) {
  const Topology& topology = *machine.topology;
  std::vector<std::uint32_t> best(topology.nodes());
  std::vector<std::uint32_t> hops_of_best(topology.nodes(), topology.nodes());
  for (std::uint32_t channel = 0; channel < machine.channels.size(); ++channel) {
    std::vector<std::uint32_t> hops(topology.nodes(), topology.nodes());
    std::vector<EntityId> open{machine.channels[channel].node};
    hops[open.front().value()] = 0;
    for (std::size_t next = 0; next < open.size(); ++next) {
      for (unsigned port = 0; port < topology.ports(open[next]); ++port) {
        const EntityId to = topology.link(open[next], port).to;
        if (to.valid() && hops[to.value()] == topology.nodes()) {
          hops[to.value()] = hops[open[next].value()] + 1;
          open.push_back(to);
        }
      }
    }
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      if (hops[node] < hops_of_best[node]) {
        hops_of_best[node] = hops[node];
        best[node] = channel;
      }
    }
  }
  return best;
}

TEST(DeadLinks, LeaveTheNearestChannelsAlongEdges) {
  for (const Shape& shape : shapes()) {
    for (const std::string edges : {"[west]", "[west, east]", "[north, south, east]"}) {
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::string text = "topology: " + shape.topology + "\n" + drawn_faults(shape, seed) +
                                 "dram: {at: edge, edges: " + edges +
                                 ", bandwidth: 1 GB/s, latency: 1 ns}\n";
        const Reading reading = testing::read(text);
        if (reading.complaints.empty()) {
          const ChannelOfNodes& channels = reading.machine->channel_of;
          EXPECT_EQ(std::vector<std::uint32_t>(channels.begin(), channels.end()),
                    searched_channels(*reading.machine))
              << text;
        }
      }
    }
  }
}

// It was an internal error.
TEST(DeadLinks, MayCutOffNodesFromAllChannels) {
  const std::string mesh =
      "topology: {kind: mesh, rows: 3, columns: 3, bandwidth: 1 GB/s, latency: 1 ns}\n"
      "faults: {links: [{from: 0, to: 1, dead: true}, {from: 0, to: 3, dead: true}]}\n";
  for (const std::string dram : {"at: edge, edges: [east]", "at: nodes, nodes: [4]", "at: each"}) {
    EXPECT_THAT(
        testing::read(mesh + "dram: {" + dram + ", bandwidth: 1 GB/s, latency: 1 ns}\n").complaints,
        ::testing::ElementsAre(HasSubstr("without the dead links tile (0,1) is cut off")));
  }
}

const std::string large =
    "topology: {kind: mesh, rows: 16383, columns: 16383, bandwidth: 1 GB/s, latency: 1 ns}\n";

// Of 268 million nodes: a bit for each would be 33 MB, and a search one of minutes.
TEST(DeadLinks, TakeNoMemoryForOtherNodes) {
  constexpr std::size_t few_bytes = std::size_t{4} << 20;
  const Machine machine = machine_of(
      large + "faults: {links: [{from: 'tile (9000,1)', to: 'tile (9000,2)', dead: true}]}\n" +
      "dram: {at: edge, edges: [west], bandwidth: 1 GB/s, latency: 1 ns}\n");
  EXPECT_LT(machine.resident_bytes(), few_bytes);
  const Topology& topology = *machine.topology;
  const Grid grid = *topology.grid();
  EXPECT_EQ(machine.channel_of[grid.node(9000, 1).value()], 9000U);
  EXPECT_EQ(machine.channel_of[grid.node(9000, 2).value()], 8999U);
  EXPECT_EQ(machine.channel_of[grid.node(9001, 2).value()], 9001U);
  const auto routing = make_routing(topology.default_routing(), topology);
  const auto hops = [&](EntityId from, EntityId to) {
    return path_between(topology, *routing, from, to).hops;
  };
  EXPECT_EQ(hops(grid.node(9000, 0), grid.node(9000, 16382)), 16384U);
  EXPECT_EQ(hops(grid.node(0, 0), grid.node(16382, 16382)), 2U * 16382);
  EXPECT_EQ(hops(grid.node(9000, 2), grid.node(9000, 1)), 3U);
}

TEST(TilesInLists, TakeNoMemoryForOtherNodes) {
  constexpr std::size_t few_bytes = std::size_t{4} << 20;
  const Machine machine =
      machine_of(large + "tile: {peak: {fp16: 1 TFLOP/s}}\n" +
                 "types: {fast: {peak: {fp16: 2 TFLOP/s}, nodes: [0, 'tile (16382,16382)'], "
                 "dram: {bandwidth: 4 GB/s, latency: 1 ns, capacity: 3 B}}}\n" +
                 "dram: {at: each, bandwidth: 1 GB/s, latency: 1 ns, capacity: 2 B}\n");
  EXPECT_LT(machine.resident_bytes(), few_bytes);
  const std::uint32_t last = machine.topology->nodes() - 1;
  EXPECT_EQ(machine.tile.name, "fast");
  EXPECT_EQ(machine.tile_of(EntityId(last)).name, "fast");
  EXPECT_EQ(machine.tile_of(EntityId(1)).name, "");
  EXPECT_EQ(machine.channels[last].capacity, Bytes(3));
  EXPECT_EQ(machine.channels[last].node, EntityId(last));
  EXPECT_EQ(machine.channels[last - 1].capacity, Bytes(2));
  EXPECT_EQ(machine.nodes_of_types(), (std::vector<std::uint64_t>{2, std::uint64_t{last} - 1}));
  const auto kinds = machine.channels.kinds();
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].count, 2U);
  EXPECT_EQ(kinds[0].channel.node, EntityId(0));
  EXPECT_EQ(kinds[1].count, last - 1U);
  EXPECT_EQ(kinds[1].channel.node, EntityId(1));
}

// Switches have the first of the types, as before there were lists.
TEST(TilesInLists, LeaveSwitchesAlone) {
  const Machine machine = machine_of(
      "topology: {kind: stack, shape: Switch(4), dimensions: [{bandwidth: 1 GB/s, latency: 1 "
      "ns}]}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\n"
      "types: {fast: {peak: {fp16: 2 TFLOP/s}, nodes: [0, 2]}}\n");
  EXPECT_EQ(machine.type_of.listed(), (std::vector<std::uint16_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(machine.nodes_of_types(), (std::vector<std::uint64_t>{2, 2}));
}

}  // namespace
}  // namespace tessera::machine::dead_links_test
