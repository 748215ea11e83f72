#include "flow/parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace tessera::network::flow_parts_test {
namespace {

using testing::Described;
using ::testing::ElementsAre;
using testing::mesh;
using testing::network_of;

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Parts of a machine.
class Parts {
 public:
  explicit Parts(const std::string& text, const std::string& routing = "xy")
      : described_(network_of(text)),
        routing_(machine::make_routing(routing, topology())),
        parts_(topology()) {}

  void learn(const Pairs& pairs, bool with_nodes = false) {
    parts_.learn(
        *routing_,
        [&pairs](const auto& visit) {
          for (const auto& [from, to] : pairs) {
            visit(EntityId(from), EntityId(to));
          }
        },
        with_nodes);
  }
  // The first one of a route.
  std::uint32_t link(std::uint32_t from, std::uint32_t to) const {
    const machine::Hop hop =
        machine::hops_between(topology(), *routing_, EntityId(from), EntityId(to)).front();
    return parts_.numbers().number(hop.node, hop.port);
  }
  EntityId hub(std::uint32_t from, std::uint32_t to) const { return parts_.hub(link(from, to)); }
  const FlowParts& operator*() const { return parts_; }
  const machine::Topology& topology() const { return *described_.machine.topology; }

 private:
  Described described_;
  std::unique_ptr<machine::Routing> routing_;
  FlowParts parts_;
};

TEST(FlowParts, AreOneUntilPairsAreKnown) {
  const Parts parts(mesh(2, 3));
  EXPECT_EQ(parts.hub(4, 5), EntityId(0));
  EXPECT_THAT((*parts).hubs(), ElementsAre(EntityId(0)));
  EXPECT_EQ((*parts).hub_at(EntityId(5)), EntityId(0));
  EXPECT_EQ((*parts).links_of(EntityId(0)).size(), (*parts).numbers().count());
  EXPECT_EQ((*parts).place(parts.link(4, 5)), parts.link(4, 5));
}

TEST(FlowParts, AreOfRoutesThatShareLinks) {
  Parts parts(mesh(1, 6));
  parts.learn({{1, 2}, {2, 3}, {5, 3}, {4, 3}, {0, 0}});
  EXPECT_EQ(parts.hub(1, 2), EntityId(1));
  EXPECT_EQ(parts.hub(2, 3), EntityId(2));
  EXPECT_EQ(parts.hub(5, 4), EntityId(4)) << "both go over the link from 4 to 3";
  EXPECT_EQ(parts.hub(4, 3), EntityId(4));
  EXPECT_FALSE(parts.hub(3, 4).valid()) << "nobody sends there";
  EXPECT_FALSE(parts.hub(0, 1).valid());
  EXPECT_THAT((*parts).hubs(), ElementsAre(EntityId(1), EntityId(2), EntityId(4)));
  EXPECT_TRUE((*parts).is_hub(EntityId(2)));
  EXPECT_FALSE((*parts).is_hub(EntityId(5)));
}

TEST(FlowParts, NumberTheLinksOfAHub) {
  Parts parts(mesh(1, 6));
  parts.learn({{0, 3}, {5, 3}});
  const std::vector<std::uint32_t> links = (*parts).links_of(EntityId(5));
  EXPECT_THAT(links, ElementsAre(parts.link(4, 3), parts.link(5, 4)));
  EXPECT_EQ((*parts).place(links[0]), 0U);
  EXPECT_EQ((*parts).place(links[1]), 1U);
  EXPECT_EQ((*parts).links_of(EntityId(0)).size(), 3U);
  EXPECT_EQ((*parts).numbers().node(links[1]), EntityId(5));
}

// A route that comes later joins two parts.
TEST(FlowParts, AreJoined) {
  Parts parts(mesh(1, 6));
  parts.learn({{3, 4}, {2, 3}, {1, 5}});
  EXPECT_THAT((*parts).hubs(), ElementsAre(EntityId(1)));
}

TEST(FlowParts, TakeInAllThatANodeSendsWhereThereAreRings) {
  Parts parts(mesh(1, 6));
  parts.learn({{0, 1}, {1, 2}, {4, 3}}, true);
  EXPECT_THAT((*parts).hubs(), ElementsAre(EntityId(0), EntityId(4)));
  EXPECT_EQ((*parts).hub_at(EntityId(2)), EntityId(0));
  EXPECT_EQ((*parts).hub_at(EntityId(3)), EntityId(4));
  EXPECT_FALSE((*parts).hub_at(EntityId(5)).valid());
}

// A ring around the switch of each of two servers, where each message has links of its own, and
// messages both ways between the servers.
TEST(FlowParts, HaveOneHubInAServer) {
  Parts parts(
      "{kind: cluster, nodes: 2, accelerators: 4, nics: 4, switch: {bandwidth: 100 GB/s, latency: "
      "100 ns}, nic: {bandwidth: 20 GB/s, latency: 200 ns}, port: {bandwidth: 20 GB/s, latency: "
      "200 ns}, fabric: {kind: switch}}",
      "cluster");
  parts.learn({{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {2, 6}, {6, 2}});
  EXPECT_THAT((*parts).hubs(), ElementsAre(EntityId(0), EntityId(4)));
  EXPECT_EQ(parts.hub(3, 0), EntityId(0));
  EXPECT_EQ(parts.hub(7, 4), EntityId(4));
  EXPECT_EQ(parts.hub(2, 6), EntityId(0));
  EXPECT_EQ(parts.hub(6, 2), EntityId(4));
  EXPECT_EQ((*parts).links_of(EntityId(4)).size(), 12U);
}

}  // namespace
}  // namespace tessera::network::flow_parts_test
