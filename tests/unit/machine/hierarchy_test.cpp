#include "tessera/machine/hierarchy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.hpp"
#include "tessera/machine/node_finder.hpp"
#include "tessera/machine/routing.hpp"

namespace tessera::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read;
using testing::topology_of;

// All pairs, against Bellman-Ford over the links.
std::vector<Distance> brute_force_from(const Topology& topology, EntityId source) {
  std::vector<Distance> distances(topology.nodes());
  distances[source.value()] = Distance::none();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
      for (unsigned port = 0; port < topology.ports(EntityId(n)); ++port) {
        const Link link = topology.link(EntityId(n), port);
        if (distances[n].latency.is_never()) {
          continue;
        }
        const Distance beyond = distances[n].after(topology.link_classes()[link.link_class]);
        if (beyond < distances[link.to.value()]) {
          distances[link.to.value()] = beyond;
          changed = true;
        }
      }
    }
  }
  return distances;
}

void expect_shortest_ways(const Topology& topology) {
  ASSERT_NE(topology.hierarchy(), nullptr);
  const auto routing = make_routing("hierarchy", topology);
  Hierarchy::Scratch scratch;
  for (std::uint32_t from = 0; from < topology.nodes(); ++from) {
    const std::vector<Distance> distances = brute_force_from(topology, EntityId(from));
    for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
      EXPECT_EQ(
          topology.hierarchy()->between(*topology.tree(), EntityId(from), EntityId(to), scratch),
          distances[to])
          << from << " to " << to;
      const Path path = path_between(topology, *routing, EntityId(from), EntityId(to));
      EXPECT_EQ((Distance{path.latency, path.hops}), distances[to]) << from << " to " << to;
    }
  }
}

std::string wire(int nanoseconds) {
  return "bandwidth: 1 GB/s, latency: " + std::to_string(nanoseconds) + " ns";
}

// Servers with two gates, in racks with two gates, under two cores; directions differ.
std::string racks(const std::string& inside) {
  return "{kind: graph, templates: {server: {nodes: {gpu: {count: 3}, hub: {kind: switch}, nic: "
         "{kind: switch}}, links: [{from: gpu, to: hub, " +
         wire(2) + ", reverse: {" + wire(3) + "}}, {from: 'gpu[0-1]', to: nic, " + wire(1) +
         "}, {from: hub, to: nic, " + wire(4) + "}" + inside +
         "]}, rack: {nodes: {server: {count: 3, template: server}, tor: {kind: switch}, cxl: "
         "{kind: "
         "switch}}, links: [{from: server.nic, to: tor, " +
         wire(20) + "}, {from: server.hub, to: cxl, " + wire(9) +
         ", count: 2}]}}, nodes: {rack: "
         "{count: 3, template: rack}, core: {count: 2, kind: switch}}, links: [{from: rack.tor, "
         "to: "
         "core, " +
         wire(50) + "}, {from: 'rack.cxl', to: 'core[1]', " + wire(40) + "}]}";
}

TEST(Hierarchy, FindsTheShortestWays) {
  expect_shortest_ways(*topology_of(racks("")));
  expect_shortest_ways(*topology_of(racks(", {from: gpu, to: gpu, " + wire(2) + "}")));
}

TEST(Hierarchy, IsNotUsedWhereAWayOutsideIsShorter) {
  const auto topology = topology_of(
      "{kind: graph, templates: {p: {nodes: {a: {}, b: {}}, links: [{from: a, to: b, " + wire(9) +
      "}]}}, nodes: {p: {count: 2, template: p}, hub: {kind: switch}}, links: [{from: p.a, to: "
      "hub, " +
      wire(1) + "}, {from: p.b, to: hub, " + wire(1) + "}]}");
  EXPECT_EQ(topology->hierarchy(), nullptr);
  EXPECT_EQ(topology->default_routing(), "shortest");
  EXPECT_THAT(routing_problem("hierarchy", *topology), HasSubstr("use 'shortest'"));
}

TEST(Hierarchy, IsNotUsedWhereInstancesDiffer) {
  const std::string one =
      "{kind: graph, templates: {p: {nodes: {a: {count: 2}, s: {}}, links: "
      "[{from: a, to: s, " +
      wire(9) +
      "}]}}, nodes: {p: {count: 2, template: p}}, links: [{from: "
      "'p[0].s', to: 'p[1].s', " +
      wire(1) + "}";
  EXPECT_NE(topology_of(one + "]}")->hierarchy(), nullptr);
  EXPECT_EQ(
      topology_of(one + ", {from: 'p[1].a[0]', to: 'p[1].a[1]', " + wire(30) + "}]}")->hierarchy(),
      nullptr);
}

TEST(Hierarchy, SpreadsTargetsOverParallelLinks) {
  const auto topology = topology_of(
      "{kind: graph, templates: {s: {nodes: {gpu: {count: 4}, pcie: {kind: switch}, cpu: {kind: "
      "switch}}, links: [{from: gpu, to: pcie, " +
      wire(1) + "}, {from: cpu, to: pcie, count: 4, " + wire(1) +
      "}]}}, nodes: {s: {template: s}}}");
  const auto routing = make_routing("hierarchy", *topology);
  std::vector<unsigned> ports;
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    ports.push_back(routing->next_port(EntityId(5), EntityId(gpu)));
  }
  EXPECT_THAT(ports, ElementsAre(0, 1, 2, 3));
}

TEST(GivenRoutes, AreFollowedAndLeaveOtherWaysAlone) {
  const std::string square =
      "kind: graph, nodes: {n: {count: 4}}, links: [{from: 'n[0]', to: 'n[1]', " + wire(1) +
      "}, {from: 'n[1]', to: 'n[2]', " + wire(1) + "}, {from: 'n[2]', to: 'n[3]', " + wire(1) +
      "}, {from: 'n[3]', to: 'n[0]', " + wire(1) + "}], routes: ";
  const auto topology = topology_of("{" + square + "[['n[0]', 'n[3]', 'n[2]', 'n[1]']]}");
  EXPECT_EQ(topology->default_routing(), "given");
  const auto routing = make_routing("given", *topology);
  EXPECT_EQ(path_between(*topology, *routing, EntityId(0), EntityId(1)).hops, 3U);
  EXPECT_EQ(path_between(*topology, *routing, EntityId(1), EntityId(0)).hops, 1U);
  EXPECT_EQ(path_between(*topology, *routing, EntityId(0), EntityId(2)).hops, 2U);
  const auto complaints = [&](const std::string& routes) {
    return read("topology: {" + square + routes + "}\n").complaints;
  };
  EXPECT_THAT(complaints("[['n[0]', 'n[2]']]"),
              ElementsAre(HasSubstr("topology.routes: no link leads there from 'n[0]'")));
  EXPECT_THAT(complaints("[['n[0]', 'n[7]']]"),
              ElementsAre(HasSubstr("topology.routes: there is no node 'n[7]'")));
  EXPECT_THAT(complaints("[['n[0]']]"), ElementsAre(HasSubstr("two nodes or more")));
  EXPECT_THAT(complaints("[['n[0]', 'n[1]', 'n[0]']]"), ElementsAre(HasSubstr("'n[0]' twice")));
  EXPECT_THAT(complaints("[['n[0]', 'n[3]', 'n[2]'], ['n[0]', 'n[1]', 'n[2]']]"),
              ElementsAre(HasSubstr("another route to 'n[2]' goes on differently from here")));
}

}  // namespace
}  // namespace tessera::machine
