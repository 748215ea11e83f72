#include "tessera/machine/routing/routing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "reading.hpp"

namespace tessera::machine::routing_test {
namespace {

using testing::grid_of;
using testing::star_of;
using testing::topology_of;
using testing::wafer_of;

// Hops of a minimal route along one side.
std::uint32_t side_distance(std::uint32_t a, std::uint32_t b, std::uint32_t size, bool wraps) {
  const std::uint32_t straight = a > b ? a - b : b - a;
  return wraps ? std::min(straight, size - straight) : straight;
}

// xy, yx and shortest all take |Δrow| + |Δcolumn| hops (the shorter way round on a torus).
TEST(Routing, IsMinimalOnGrids) {
  for (const char* kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 6}, {2, 2}, {3, 5}, {4, 4}}) {
      const auto topology = grid_of(kind, rows, columns);
      const Grid grid = *topology->grid();
      for (const char* name : {"xy", "yx", "shortest"}) {
        const auto routing = make_routing(name, *topology);
        for (std::uint32_t from = 0; from < topology->nodes(); ++from) {
          for (std::uint32_t to = 0; to < topology->nodes(); ++to) {
            const EntityId a(from);
            const EntityId b(to);
            const std::uint32_t hops =
                side_distance(grid.row_of(a), grid.row_of(b), grid.rows, grid.wraps) +
                side_distance(grid.column_of(a), grid.column_of(b), grid.columns, grid.wraps);
            const Path path = path_between(*topology, *routing, a, b);
            ASSERT_EQ(path.hops, hops) << kind << ' ' << name << ' ' << from << ' ' << to;
            ASSERT_EQ(path.latency, SimTime::from_ps(2000) * hops);
          }
        }
      }
    }
  }
}

TEST(Routing, TakesTheDimensionsInOrder) {
  const auto mesh = grid_of("mesh", 4, 4);
  EXPECT_EQ(make_routing("xy", *mesh)->next_port(EntityId(5), EntityId(15)), east);
  EXPECT_EQ(make_routing("yx", *mesh)->next_port(EntityId(5), EntityId(15)), south);
  EXPECT_EQ(make_routing("xy", *mesh)->next_port(EntityId(5), EntityId(1)), north);
  EXPECT_EQ(make_routing("yx", *mesh)->next_port(EntityId(5), EntityId(4)), west);
}

TEST(Routing, GoesEastAndSouthHalfWayRoundATorus) {
  const auto torus = grid_of("torus", 4, 4);
  const auto routing = make_routing("xy", *torus);
  EXPECT_EQ(routing->next_port(EntityId(0), EntityId(2)), east);
  EXPECT_EQ(routing->next_port(EntityId(2), EntityId(0)), east);
  EXPECT_EQ(routing->next_port(EntityId(8), EntityId(0)), south);
  EXPECT_EQ(routing->next_port(EntityId(0), EntityId(3)), west);
}

TEST(Routing, PathSumsLatenciesAndFindsTheBottleneck) {
  const auto wafer = wafer_of(1, 2);
  const auto routing = make_routing("xy", *wafer);
  const Path path = path_between(*wafer, *routing, EntityId(0), EntityId(5));
  EXPECT_EQ(path.hops, 5U);
  EXPECT_EQ(path.latency, SimTime::from_ps(4 * 1000 + 5000));
  EXPECT_EQ(path.bottleneck, Bandwidth::bytes_per_second(10'000'000'000));
  const Path none = path_between(*wafer, *routing, EntityId(1), EntityId(1));
  EXPECT_EQ(none.hops, 0U);
  EXPECT_EQ(none.latency, SimTime::zero());
  EXPECT_EQ(none.bottleneck.bytes_per_second(), std::numeric_limits<std::uint64_t>::max());
}

// a–b–c at 1 ns each beats a–c at 3 ns; at equal latency the route with fewer hops wins, and of
// equal routes the lowest port.
TEST(ShortestPath, PrefersLatencyThenHopsThenLowPorts) {
  const auto line = [](const std::string& direct) {
    return topology_of(
        "{kind: graph, nodes: [{name: a}, {name: b, kind: switch}, {name: c}], links: ["
        "{from: a, to: b, bandwidth: 1 GB/s, latency: 1 ns}, "
        "{from: b, to: c, bandwidth: 1 GB/s, latency: 1 ns}, "
        "{from: a, to: c, bandwidth: 1 GB/s, latency: " +
        direct + "}]}");
  };
  EXPECT_EQ(ShortestPathRouting(*line("3 ns")).next_port(EntityId(0), EntityId(2)), 0U);
  EXPECT_EQ(ShortestPathRouting(*line("2 ns")).next_port(EntityId(0), EntityId(2)), 1U);
  const auto parallel = topology_of(
      "{kind: graph, nodes: [{name: a}, {name: b}], links: ["
      "{from: a, to: b, bandwidth: 1 GB/s, latency: 2 ns}, "
      "{from: a, to: b, bandwidth: 1 GB/s, latency: 1 ns}]}");
  EXPECT_EQ(ShortestPathRouting(*parallel).next_port(EntityId(0), EntityId(1)), 1U);
}

enum Over : unsigned { memory, tile, switching, nothing };

// The port from one node to another: over a memory (2 ns), over a tile (4 ns, 90 GB/s) and, unless
// these are all, over a switch (6 ns, 9 GB/s) or straight (8 ns, 2 GB/s).
unsigned way_by(const std::string& rule, bool all = false) {
  const std::string others = all ? ""
                                 : ", {from: x, to: switch, bandwidth: 9 GB/s, latency: 3 ns}, "
                                   "{from: 'x[0]', to: 'x[1]', bandwidth: 2 GB/s, latency: 8 ns}";
  const auto topology = topology_of(
      "{kind: graph, ways: {" + rule +
      "}, nodes: {x: {count: 2}, memory: {kind: memory}, tile: {}, more: {kind: switch}" +
      (all ? "" : ", switch: {kind: switch}") +
      "}, links: [{from: x, to: memory, bandwidth: 1 GB/s, latency: 1 ns}, "
      "{from: x, to: tile, bandwidth: 90 GB/s, latency: 2 ns}" +
      others + ", {from: 'x[0]', to: more, bandwidth: 1 GB/s, latency: 1 ns}]}");
  return make_routing("shortest", *topology)->next_port(EntityId(0), EntityId(1));
}

TEST(ShortestPath, GoesByLatencyHopsOrBandwidth) {
  EXPECT_EQ(way_by("through: all"), memory);
  EXPECT_EQ(way_by("through: all, by: hops"), nothing);
  EXPECT_EQ(way_by("through: all, by: bandwidth"), tile);
}

TEST(ShortestPath, LeavesTilesAndMemoriesAloneUnlessItMayOrMust) {
  EXPECT_EQ(way_by(""), switching);
  EXPECT_EQ(way_by("by: hops"), nothing);
  EXPECT_EQ(way_by("by: bandwidth"), switching);
  EXPECT_EQ(way_by("", true), memory);
  EXPECT_EQ(way_by("by: bandwidth", true), tile);
}

// What is slower is another way by bandwidth, for which the sound machine's distances are of no
// use.
TEST(ShortestPath, TakesOverWhereLinksAreSlower) {
  const auto usual = [](const std::string& by) {
    return testing::machine_of(
               "topology: {kind: graph, ways: {by: " + by +
               "}, templates: {s: {nodes: {x: {count: 2}, hub: {kind: switch}}, links: [{from: x, "
               "to: hub, bandwidth: 1 GB/s, latency: 1 ns, count: 2}]}}, nodes: {s: {count: 2, "
               "template: s}}, links: [{from: 's[0].hub', to: 's[1].hub', bandwidth: 1 GB/s, "
               "latency: 1 ns}]}\n"
               "faults: {links: [{from: 's[0].x[0]', to: 's[0].hub', bandwidth: 50 %}]}\n")
        .topology->default_routing();
  };
  EXPECT_EQ(usual("latency"), "hierarchy");
  EXPECT_EQ(usual("bandwidth"), "ecmp");
}

// Of links side by side the target's number decides, as among instances of templates.
TEST(ShortestPath, UsesLinksSideBySide) {
  const auto star = topology_of(
      "{kind: graph, nodes: {gpu: {count: 4}, hub: {kind: switch}}, links: [{from: gpu, to: hub, "
      "bandwidth: 1 GB/s, latency: 1 ns, count: 3}]}");
  const ShortestPathRouting routing(*star);
  EXPECT_EQ(routing.next_port(EntityId(0), EntityId(1)), 1U);
  EXPECT_EQ(routing.next_port(EntityId(0), EntityId(2)), 2U);
  EXPECT_EQ(routing.next_port(EntityId(0), EntityId(3)), 0U);
  EXPECT_EQ(routing.next_port(EntityId(4), EntityId(1)), 3U + 1U);
}

TEST(ShortestPath, ServesNodesWithManyPorts) {
  const auto star = star_of(1000);
  const ShortestPathRouting routing(*star);
  for (const std::uint32_t target : {0U, 255U, 256U, 999U}) {
    EXPECT_EQ(routing.next_port(EntityId(1000), EntityId(target)), target);
    EXPECT_EQ(routing.next_port(EntityId(500), EntityId(target)), 0U);
  }
}

// Two nodes and one link from the first to the second.
class OneWay final : public Topology {
 public:
  OneWay() { classes_ = {{"link", SimTime::from_ps(1), Bandwidth::bytes_per_second(1)}}; }
  std::uint32_t nodes() const override { return 2; }
  unsigned ports(EntityId) const override { return 1; }
  Link link(EntityId node, unsigned) const override {
    return node.value() == 0 ? Link{EntityId(1), 0} : Link{};
  }
  Position position(EntityId) const override { return {}; }
  std::string node_name(EntityId node) const override { return "n" + std::to_string(node.value()); }
};

template <class Call>
std::string model_error_of(const Call& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(ShortestPath, ReportsATargetOutOfReach) {
  const OneWay topology;
  const ShortestPathRouting routing(topology);
  EXPECT_EQ(routing.next_port(EntityId(0), EntityId(1)), 0U);
  EXPECT_THAT(model_error_of([&] { routing.next_port(EntityId(1), EntityId(0)); }),
              ::testing::HasSubstr("no way leads from n1 to n0"));
}

class AlwaysEast final : public Routing {
 public:
  unsigned next_port(EntityId, EntityId) const override { return east; }
};

TEST(Path, ReportsLoopsAndRoutesOffTheMachine) {
  const auto torus = grid_of("torus", 2, 3);
  EXPECT_THAT(model_error_of([&] { path_between(*torus, AlwaysEast(), EntityId(0), EntityId(4)); }),
              ::testing::HasSubstr("the route from tile (0,0) to tile (1,1) is a loop"));
  const auto mesh = grid_of("mesh", 2, 3);
  EXPECT_THAT(
      model_error_of([&] { path_between(*mesh, AlwaysEast(), EntityId(0), EntityId(4)); }),
      ::testing::HasSubstr("the route from tile (0,0) to tile (1,1) leads off the machine"));
}

TEST(Routing, RefusesNamesTheTopologyCannotUse) {
  const auto message = [](const std::string& name, const Topology& topology) -> std::string {
    try {
      make_routing(name, topology);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("xx", *grid_of("mesh", 2, 2)), ::testing::HasSubstr("unknown routing 'xx'"));
  EXPECT_THAT(message("yx", *star_of(2)),
              ::testing::HasSubstr("'yx' needs a mesh, torus or wafer; use 'shortest'"));
  EXPECT_THAT(message("cluster", *grid_of("mesh", 2, 2)),
              ::testing::HasSubstr("'cluster' needs a cluster; use 'xy'"));
}

}  // namespace
}  // namespace tessera::machine::routing_test
