#include "tessera/machine/graph/hierarchy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.hpp"
#include "tessera/machine/node_finder.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::hierarchy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read;
using testing::topology_of;

// The way over one more link from a node at this distance from `source`.
Distance beyond(const Topology& topology, EntityId source, EntityId node, const Distance& distance,
                const LinkClass& link_class) {
  const RouteRule rule = topology.route_rule();
  Distance longer = distance;
  if (!rule.through_ends && node != source && topology.role(node) != NodeRole::switching) {
    ++longer.ends;
  }
  ++longer.hops;
  longer.latency += link_class.latency;
  if (rule.by == RouteLength::hops) {
    longer.cost += SimTime::from_ps(1);
  } else if (rule.by == RouteLength::bandwidth) {
    longer.cost += serialization_time(Bytes(1 << 20), link_class.bandwidth);
  }
  return longer;
}

// Bellman-Ford over the links.
std::vector<Distance> brute_force_from(const Topology& topology, EntityId source) {
  std::vector<Distance> distances(topology.nodes());
  distances[source.value()] = Distance::none();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
      const EntityId node(n);
      for (unsigned port = 0; port < topology.ports(node); ++port) {
        const Link link = topology.link(node, port);
        if (!distances[n].is_finite()) {
          continue;
        }
        const Distance longer =
            beyond(topology, source, node, distances[n], topology.link_classes()[link.link_class]);
        if (longer < distances[link.to.value()]) {
          distances[link.to.value()] = longer;
          changed = true;
        }
      }
    }
  }
  return distances;
}

Distance walked(const Topology& topology, const Routing& routing, EntityId from, EntityId to) {
  Distance distance = Distance::none();
  for (const Hop& hop : hops_between(topology, routing, from, to)) {
    const Link link = topology.link(hop.node, hop.port);
    distance = beyond(topology, from, hop.node, distance, topology.link_classes()[link.link_class]);
  }
  return distance;
}

// All pairs.
void expect_shortest_ways(const Topology& topology) {
  ASSERT_NE(topology.hierarchy(), nullptr);
  const auto by_hierarchy = make_routing("hierarchy", topology);
  const auto by_columns = make_routing("shortest", topology);
  Hierarchy::Scratch scratch;
  for (std::uint32_t from = 0; from < topology.nodes(); ++from) {
    const std::vector<Distance> distances = brute_force_from(topology, EntityId(from));
    for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
      const EntityId a(from);
      const EntityId b(to);
      EXPECT_EQ(topology.hierarchy()->between(*topology.tree(), a, b, scratch), distances[to])
          << from << " to " << to;
      EXPECT_EQ(walked(topology, *by_hierarchy, a, b), distances[to]) << from << " to " << to;
      EXPECT_EQ(walked(topology, *by_columns, a, b), distances[to]) << from << " to " << to;
    }
  }
}

std::string wire(int nanoseconds, int gigabytes = 1) {
  return "bandwidth: " + std::to_string(gigabytes) +
         " GB/s, latency: " + std::to_string(nanoseconds) + " ns";
}

// Servers with two gates, in racks with two gates, under two cores; directions differ. More links
// of servers and of racks, and a rule.
std::string racks(const std::string& inside, const std::string& around = "",
                  const std::string& above = "{from: 'rack.cxl', to: 'core[1]', " + wire(40) + "}",
                  const std::string& rule = "through: switches") {
  return "{kind: graph, ways: {" + rule +
         "}, templates: {server: {nodes: {gpu: {count: 3}, hub: {kind: switch}, nic: "
         "{kind: switch}}, links: [{from: gpu, to: hub, " +
         wire(2) + ", reverse: {" + wire(3) + "}}, {from: 'gpu[0-1]', to: nic, " + wire(1) +
         "}, {from: hub, to: nic, " + wire(4) + "}" + inside +
         "]}, rack: {nodes: {server: {count: 3, template: server}, tor: {kind: switch}, cxl: "
         "{kind: "
         "switch}}, links: [{from: server.nic, to: tor, " +
         wire(20, 5) + "}, {from: server.hub, to: cxl, " + wire(9) + ", count: 2}" + around +
         "]}}, nodes: {rack: "
         "{count: 3, template: rack}, core: {count: 2, kind: switch}}, links: [{from: rack.tor, "
         "to: "
         "core, " +
         wire(50) + "}, " + above + "]}";
}

TEST(Hierarchy, FindsTheShortestWays) {
  expect_shortest_ways(*topology_of(racks("")));
  expect_shortest_ways(*topology_of(racks(", {from: gpu, to: gpu, " + wire(2) + "}")));
}

// The same where tiles have links that leave servers, so that short ways lead through them: to be
// avoided, or not.
TEST(Hierarchy, FindsTheShortestWaysByAnyRule) {
  const std::string inside = ", {from: gpu, to: gpu, " + wire(1, 3) + "}";
  const std::string around = ", {from: 'server.gpu[2]', to: cxl, " + wire(8, 2) + "}";
  const std::string above = "{from: rack.cxl, to: rack.cxl, " + wire(40) + "}";
  for (const std::string by : {"latency", "hops", "bandwidth"}) {
    for (const std::string through : {"switches", "all"}) {
      SCOPED_TRACE(by + " through " + through);
      expect_shortest_ways(
          *topology_of(racks(inside, around, above, "by: " + by + ", through: " + through)));
    }
  }
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
}  // namespace tessera::machine::hierarchy_test
