// Topologies that follow from a few numbers: counts, diameters and load against their papers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "reading.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::generated_test {
namespace {

using ::testing::HasSubstr;
using testing::read;
using testing::topology_of;

const std::string link = "{bandwidth: 10 GB/s, latency: 2 ns}";
const std::string link_keys = "bandwidth: 10 GB/s, latency: 2 ns}";

std::string hypercube(int dimensions) {
  return "{kind: hypercube, dimensions: " + std::to_string(dimensions) + ", " + link_keys;
}
std::string twisted(int rows, int columns, int twist) {
  return "{kind: twisted-torus, rows: " + std::to_string(rows) +
         ", columns: " + std::to_string(columns) + ", twist: " + std::to_string(twist) + ", " +
         link_keys;
}
std::string double_ring(int size) {
  return "{kind: double-ring, size: " + std::to_string(size) + ", " + link_keys;
}
std::string dragonfly(int groups, int routers, int npus, int global) {
  return "{kind: dragonfly, groups: " + std::to_string(groups) +
         ", routers: " + std::to_string(routers) + ", npus: " + std::to_string(npus) +
         ", global: " + std::to_string(global) + ", node: " + link + ", local: " + link +
         ", global_links: " + link + "}";
}
std::string fat_tree(int k, int oversubscription) {
  return "{kind: fat-tree, k: " + std::to_string(k) +
         ", oversubscription: " + std::to_string(oversubscription) + ", node: " + link +
         ", edge: " + link + ", core: " + link + "}";
}

std::uint32_t diameter(const Topology& topology) {
  const auto routing = make_routing(topology.default_routing(), topology);
  std::uint32_t longest = 0;
  const std::uint32_t npus = topology.computing_nodes();
  for (std::uint32_t a = 0; a < npus; ++a) {
    for (std::uint32_t b = 0; b < npus; ++b) {
      longest = std::max(longest, path_between(topology, *routing, EntityId(a), EntityId(b)).hops);
    }
  }
  return longest;
}

TEST(Generated, LinksLeadBothWays) {
  const std::string concentrated =
      "{kind: concentrated-mesh, rows: 3, columns: 2, concentration: 4, node: " + link +
      ", bandwidth: 9 GB/s, latency: 3 ns}";
  for (const std::string& text :
       {concentrated, hypercube(4), twisted(3, 6, 3), twisted(2, 2, 1), double_ring(2),
        double_ring(7), dragonfly(9, 4, 2, 2), dragonfly(4, 4, 2, 2), dragonfly(1, 3, 2, 1),
        fat_tree(4, 1), fat_tree(4, 3)}) {
    const auto topology = topology_of(text);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>, int> links;
    for (std::uint32_t n = 0; n < topology->nodes(); ++n) {
      for (unsigned port = 0; port < topology->ports(EntityId(n)); ++port) {
        const Link here = topology->link(EntityId(n), port);
        ASSERT_LT(here.to.value(), topology->nodes()) << text;
        ++links[{n, here.to.value(), here.link_class}];
      }
    }
    for (const auto& [ends, count] : links) {
      const auto& [from, to, link_class] = ends;
      EXPECT_EQ((links[{to, from, link_class}]), count) << text;
    }
  }
}

TEST(Generated, CountsOfThePapers) {
  const auto tree = topology_of(fat_tree(4, 1));
  EXPECT_EQ(tree->computing_nodes(), 16U);    // k^3/4
  EXPECT_EQ(tree->nodes(), 16U + 8 + 8 + 4);  // and 5 k^2/4 switches
  EXPECT_EQ(tree->links(), 2U * 3 * 16);
  EXPECT_EQ(topology_of(fat_tree(4, 3))->computing_nodes(), 48U);
  const auto full = topology_of(dragonfly(9, 4, 2, 2));  // the balanced one, a = 2 p = 2 h
  EXPECT_EQ(full->computing_nodes(), 72U);
  EXPECT_EQ(full->nodes(), 72U + 36);
  // Each pair of groups has one link, each group is fully connected.
  EXPECT_EQ(full->links(), 2U * (72 + 9 * 6 + 36));
  const auto few = topology_of(dragonfly(4, 4, 2, 2));  // 8 places for 3 groups: 2 links a pair
  EXPECT_EQ(few->links(), 2U * (32 + 4 * 6 + 6 * 2));
  EXPECT_EQ(topology_of(hypercube(5))->links(), 32U * 5);
}

TEST(Generated, DiametersOfThePapers) {
  EXPECT_EQ(diameter(*topology_of(hypercube(5))), 5U);
  EXPECT_EQ(diameter(*topology_of(fat_tree(4, 1))), 6U);
  EXPECT_EQ(diameter(*topology_of(dragonfly(9, 4, 2, 2))), 5U);
  EXPECT_EQ(diameter(*topology_of(double_ring(8))), 4U);
  // 2 a x a: a + a/2 plain, a twisted by a (Cámara et al., table 1).
  EXPECT_EQ(diameter(*topology_of(twisted(4, 8, 0))), 6U);
  EXPECT_EQ(diameter(*topology_of(twisted(4, 8, 4))), 4U);
}

// All pairs of NPUs: no link up from an edge switch carries more than twice its share.
TEST(Generated, WaysUpAFatTreeAreShared) {
  const auto topology = topology_of(fat_tree(8, 1));
  const auto routing = make_routing("ecmp", *topology);
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> load;
  const std::uint32_t npus = topology->computing_nodes();
  for (std::uint32_t a = 0; a < npus; ++a) {
    for (std::uint32_t b = 0; b < npus; ++b) {
      if (a == b) {
        continue;
      }
      for (const Hop& hop : hops_between(*topology, *routing, EntityId(a), EntityId(b))) {
        const Link taken = topology->link(hop.node, hop.port);
        if (topology->node_name(hop.node).starts_with("edge") &&
            topology->node_name(taken.to).starts_with("aggregation")) {
          ++load[{hop.node.value(), hop.port}];
        }
      }
    }
  }
  EXPECT_EQ(load.size(), 32U * 4);
  const std::uint32_t share = 4 * (npus - 4) / 4;
  for (const auto& [where, count] : load) {
    EXPECT_LT(count, 2 * share);
    EXPECT_GT(2 * count, share);
  }
}

TEST(Generated, BothLinksOfADoubleRingAreUsed) {
  const auto topology = topology_of(double_ring(16));
  const auto routing = make_routing("ecmp", *topology);
  std::set<unsigned> ports;
  for (std::uint32_t target = 1; target < 8; ++target) {
    ports.insert(routing->next_port(EntityId(0), EntityId(target)));
  }
  EXPECT_EQ(ports.size(), 2U);
}

TEST(Generated, SayWhatIsWrong) {
  const auto complaint = [](const std::string& flow) {
    const auto reading = read("topology: " + flow + "\n");
    return reading.complaints.empty() ? "" : reading.complaints.front();
  };
  EXPECT_THAT(complaint(dragonfly(10, 4, 2, 2)), HasSubstr("at most 9 can be joined"));
  EXPECT_THAT(complaint(dragonfly(100000, 1000, 1000, 1000)), HasSubstr("too many"));
  EXPECT_THAT(complaint(fat_tree(5, 1)), HasSubstr("must be even"));
  EXPECT_THAT(complaint(fat_tree(512, 64)), HasSubstr("too many"));
  EXPECT_THAT(complaint(hypercube(21)), HasSubstr("topology.dimensions"));
  EXPECT_THAT(complaint(double_ring(1)), HasSubstr("must be 2 or more"));
  EXPECT_THAT(complaint(twisted(1, 4, 1)), HasSubstr("topology.rows: must be 2 or more"));
  EXPECT_THAT(complaint(twisted(100000, 100000, 1)), HasSubstr("too many"));
}

}  // namespace
}  // namespace tessera::machine::generated_test
