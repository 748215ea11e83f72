#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.hpp"

namespace tessera::machine::graph_test {
namespace {

using ::testing::ElementsAre;
using testing::read;
using testing::star_of;
using testing::topology_of;

const std::string wire = "bandwidth: 1 GB/s, latency: 1 ns";

// Ends of all links of a node, by port.
std::vector<std::uint32_t> ends(const Topology& topology, std::uint32_t node) {
  std::vector<std::uint32_t> ends;
  for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
    ends.push_back(topology.link(EntityId(node), port).to.value());
  }
  return ends;
}

TEST(Graph, JoinsAGroupToANodeAsAStar) {
  const auto star = star_of(8);
  EXPECT_EQ(star->nodes(), 9U);
  EXPECT_EQ(star->links(), 16U);
  EXPECT_EQ(star->computing_nodes(), 8U);
  EXPECT_FALSE(star->computes(EntityId(8)));
  EXPECT_EQ(star->node_name(EntityId(3)), "gpu[3]");
  EXPECT_EQ(star->node_name(EntityId(8)), "hub");
  EXPECT_THAT(ends(*star, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ends(*star, 3), ElementsAre(8));
  EXPECT_EQ(star->grid(), std::nullopt);
  EXPECT_EQ(star->default_routing(), "shortest");
  EXPECT_EQ(star->link_classes().size(), 1U);
  EXPECT_EQ(star->link_classes()[0].name, "10 GB/s, 3 ns");
  EXPECT_GT(star->resident_bytes(), 16 * sizeof(Link));
}

TEST(Graph, JoinsGroupsToEachOtherAndToThemselves) {
  const auto bipartite = topology_of(
      "{kind: graph, nodes: [{name: a, count: 2}, {name: b, count: 3}], links: [{from: "
      "a, to: b, " +
      wire + "}]}");
  EXPECT_EQ(bipartite->links(), 12U);
  EXPECT_THAT(ends(*bipartite, 1), ElementsAre(2, 3, 4));
  const auto full = topology_of(
      "{kind: graph, nodes: [{name: a, count: 4}], links: [{from: a, to: a, " + wire + "}]}");
  EXPECT_EQ(full->links(), 12U);
  EXPECT_THAT(ends(*full, 2), ElementsAre(0, 1, 3));
}

TEST(Graph, HasOneWayLinks) {
  const auto ring = topology_of(
      "{kind: graph, nodes: [{name: n, count: 3}], links: ["
      "{from: 'n[0]', to: 'n[1]', directions: one, " +
      wire +
      "}, "
      "{from: 'n[1]', to: 'n[2]', directions: one, " +
      wire +
      "}, "
      "{from: 'n[2]', to: 'n[0]', directions: one, bandwidth: 2 GB/s, latency: 1 ns}]}");
  EXPECT_EQ(ring->links(), 3U);
  EXPECT_THAT(ends(*ring, 0), ElementsAre(1));
  EXPECT_THAT(ends(*ring, 2), ElementsAre(0));
  EXPECT_EQ(ring->link_classes().size(), 2U);
}

TEST(Graph, OfOneNodeIsLegal) {
  const auto one = topology_of("{kind: graph, nodes: [{name: alone}]}");
  EXPECT_EQ(one->nodes(), 1U);
  EXPECT_EQ(one->links(), 0U);
  EXPECT_TRUE(one->smallest_latency().is_never());
}

std::vector<std::string> complaints_about(const std::string& nodes, const std::string& links) {
  return read("topology:\n  kind: graph\n  nodes:\n" + nodes + "  links:\n" + links).complaints;
}

TEST(Graph, ComplainsAboutBadNodes) {
  EXPECT_THAT(
      complaints_about("    - {name: a}\n    - {name: a}\n", "    []\n"),
      ElementsAre("m.yaml:5:8: error: topology.nodes[1].name: there are two nodes called 'a'"));
  EXPECT_THAT(
      complaints_about("    - {name: 'a[1]'}\n", "    []\n"),
      ElementsAre("m.yaml:4:8: error: topology.nodes[0].name: a name must not contain '[' or "
                  "']'; 'count' makes name[0], name[1], ..."));
  EXPECT_THAT(complaints_about("    []\n", "    []\n"),
              ElementsAre("m.yaml:3:3: error: topology.nodes: must list at least one node"));
  EXPECT_THAT(complaints_about("    - {name: ''}\n    - {count: 2}\n", "    []\n"),
              ElementsAre("m.yaml:4:8: error: topology.nodes[0].name: must not be empty",
                          ::testing::StartsWith("m.yaml:5:7: error: topology.nodes[1].name: ")));
}

TEST(Graph, ComplainsAboutTooManyNodesOrLinks) {
  EXPECT_THAT(
      complaints_about("    - {name: a}\n    - {name: b, count: 16777216}\n",
                       "    - {from: a, to: a, " + wire + "}\n"),
      ElementsAre("m.yaml:5:17: error: topology.nodes[1].count: too many nodes; a graph may "
                  "have 16777216",
                  "m.yaml:7:17: error: topology.links[0].to: a node cannot be linked to "
                  "itself"));
  EXPECT_THAT(
      complaints_about("    - {name: a, count: 4097}\n", "    - {from: a, to: a, " + wire + "}\n"),
      ElementsAre("m.yaml:6:8: error: topology.links[0].from: too many links; a graph may "
                  "have 16777216"));
}

TEST(Graph, ComplainsAboutBadLinks) {
  const std::string nodes = "    - {name: gpu, count: 2}\n    - {name: hub, kind: switch}\n";
  const auto about = [&](const std::string& from, const std::string& to) {
    return complaints_about(nodes, "    - {from: gpu, to: hub, " + wire + "}\n    - {from: " +
                                       from + ", to: " + to + ", " + wire + "}\n");
  };
  EXPECT_THAT(about("gpv", "hub"), ElementsAre("m.yaml:8:8: error: topology.links[1].from: unknown "
                                               "node 'gpv'; did you mean 'gpu'? known: gpu, hub"));
  EXPECT_THAT(about("hub", "'gpu[2]'"),
              ElementsAre("m.yaml:8:19: error: topology.links[1].to: 'gpu[2]' does not exist; the "
                          "last one is 'gpu[1]'"));
  EXPECT_THAT(about("hub", "'gpu[x]'"),
              ElementsAre("m.yaml:8:19: error: topology.links[1].to: 'gpu[x]' is not a node; write "
                          "e.g. 'gpu[0]'"));
  EXPECT_THAT(about("'hub[0]'", "gpu"),
              ElementsAre("m.yaml:8:8: error: topology.links[1].from: 'hub' is one node, not a "
                          "group; write it without an index"));
  const std::string self = ": error: topology.links[1].to: a node cannot be linked to itself";
  EXPECT_THAT(about("hub", "hub"), ElementsAre("m.yaml:8:19" + self));
  EXPECT_THAT(about("'gpu[1]'", "gpu"), ElementsAre("m.yaml:8:24" + self));
}

TEST(Graph, ComplainsAboutNodesOutOfReach) {
  EXPECT_THAT(complaints_about("    - {name: a, count: 3}\n",
                               "    - {from: 'a[0]', to: 'a[1]', " + wire + "}\n"),
              ElementsAre("m.yaml:5:3: error: topology.links: no way leads from 'a[0]' to 'a[2]'"));
  EXPECT_THAT(complaints_about("    - {name: a, count: 2}\n",
                               "    - {from: 'a[0]', to: 'a[1]', directions: one, " + wire + "}\n"),
              ElementsAre("m.yaml:5:3: error: topology.links: no way leads from 'a[1]' to 'a[0]'"));
}

}  // namespace
}  // namespace tessera::machine::graph_test
