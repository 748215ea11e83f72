// Clusters: shape, routes and how they are cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reading.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::cluster_test {
namespace {

using testing::cluster_of;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::fat_tree;
using ::testing::HasSubstr;
using testing::topology_of;

struct Shape {
  int servers, accelerators, nics, leaf_servers;
  bool rails;
  int spines;
};

const std::vector<Shape> shapes{{1, 1, 1, 1, false, 1}, {2, 4, 2, 1, false, 1},
                                {5, 4, 2, 2, false, 3}, {5, 4, 2, 2, true, 3},
                                {7, 8, 8, 3, true, 5},  {6, 8, 4, 6, false, 2}};

std::unique_ptr<Topology> topology_of(const Shape& shape) {
  return cluster_of(shape.servers, shape.accelerators, shape.nics,
                    fat_tree(shape.leaf_servers, shape.rails, shape.spines));
}

Path path(const Topology& topology, EntityId from, EntityId to) {
  return path_between(topology, *make_routing("cluster", topology), from, to);
}

SimTime ns(int n) {
  return SimTime::from_ps(1000) * n;
}

// Every link has its opposite of the same class, and no port leads nowhere.
TEST(Cluster, LinksLeadBothWays) {
  for (const Shape& shape : shapes) {
    const auto topology = topology_of(shape);
    std::multiset<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>> links;
    for (std::uint32_t n = 0; n < topology->nodes(); ++n) {
      for (unsigned port = 0; port < topology->ports(EntityId(n)); ++port) {
        const Link link = topology->link(EntityId(n), port);
        ASSERT_LT(link.to.value(), topology->nodes());
        links.insert({n, link.to.value(), link.link_class});
      }
    }
    for (const auto& [from, to, link_class] : links) {
      EXPECT_EQ(links.count({from, to, link_class}), 1U);
      EXPECT_EQ(links.count({to, from, link_class}), 1U);
    }
    EXPECT_EQ(topology->links(), links.size());
  }
}

TEST(Cluster, CountsItsNodesAndLinks) {
  // Two pods of two servers and one of one; a leaf a pod, or one for each of two rails.
  const auto plain = topology_of(Shape{5, 4, 2, 2, false, 3});
  EXPECT_EQ(plain->computing_nodes(), 20U);
  EXPECT_EQ(plain->nodes(), 20U + 5 + 10 + 3 + 3);
  EXPECT_EQ(plain->links(), 2U * (20 + 20 + 10 + 3 * 3));
  const auto rails = topology_of(Shape{5, 4, 2, 2, true, 3});
  EXPECT_EQ(rails->nodes(), 20U + 5 + 10 + 6 + 3);
  EXPECT_EQ(rails->links(), 2U * (20 + 20 + 10 + 6 * 3));
  const auto one_switch = cluster_of(5, 4, 2, "{kind: switch}");
  EXPECT_EQ(one_switch->nodes(), 20U + 5 + 10 + 1);
  EXPECT_EQ(one_switch->links(), 2U * (20 + 20 + 10));
  EXPECT_EQ(one_switch->link_classes().size(), 3U);
}

TEST(Cluster, NamesItsNodes) {
  const auto topology = topology_of(Shape{5, 4, 2, 2, true, 3});
  EXPECT_EQ(topology->node_name(EntityId(7)), "accelerator 3 of node 1");
  EXPECT_EQ(topology->node_name(EntityId(21)), "switch of node 1");
  EXPECT_EQ(topology->node_name(EntityId(28)), "NIC 1 of node 1");
  EXPECT_EQ(topology->node_name(EntityId(35)), "leaf 0");
  EXPECT_EQ(topology->node_name(EntityId(43)), "spine 2");
  EXPECT_TRUE(topology->computes(EntityId(19)));
  EXPECT_FALSE(topology->computes(EntityId(20)));
  std::set<std::pair<double, double>> places;
  for (std::uint32_t node = 0; node < topology->nodes(); ++node) {
    const Position position = topology->position(EntityId(node));
    EXPECT_TRUE(places.insert({position.x, position.y}).second) << node;
  }
}

TEST(Cluster, RoutesEveryPairOfNodes) {
  for (const Shape& shape : shapes) {
    const auto topology = topology_of(shape);
    const auto routing = make_routing(topology->default_routing(), *topology);
    for (std::uint32_t from = 0; from < topology->nodes(); ++from) {
      for (std::uint32_t to = 0; to < topology->nodes(); ++to) {
        const Path found = path_between(*topology, *routing, EntityId(from), EntityId(to));
        EXPECT_EQ(found.hops == 0, from == to);
        EXPECT_LE(found.hops, 9U);
      }
    }
  }
}

// Links of 1 ns to the switch, 2 ns to the NIC, 3 ns to the leaf, 4 ns in the fabric; 300, 30, 25
// and 50 GB/s.
TEST(Cluster, PathsOfAccelerators) {
  for (const bool rails : {false, true}) {
    const auto topology = topology_of(Shape{6, 4, 2, 2, rails, 3});
    const auto expect = [&](std::uint32_t to, std::uint32_t hops, int latency_ns,
                            std::uint64_t rate) {
      const Path found = path(*topology, EntityId(0), EntityId(to));
      EXPECT_EQ(found.hops, hops) << to;
      EXPECT_EQ(found.latency, ns(latency_ns)) << to;
      EXPECT_EQ(found.bottleneck.bytes_per_second(), rate * 1'000'000'000) << to;
    };
    expect(1, 2, 2 * 1, 300);
    expect(3, 2, 2 * 1, 300);
    expect(4, 4, 2 * 2 + 2 * 3, 25);  // the server beside it, same rail: one leaf
    expect(5, 4, 2 * 2 + 2 * 3, 25);
    expect(8, 6, 2 * 2 + 2 * 3 + 2 * 4, 25);  // the next group
    expect(23, 6, 2 * 2 + 2 * 3 + 2 * 4, 25);
    if (rails) {
      expect(6, 6, 2 * 2 + 2 * 3 + 2 * 4, 25);  // another rail: another leaf
    } else {
      expect(6, 4, 2 * 2 + 2 * 3, 25);
    }
  }
}

TEST(Cluster, ThroughOneSwitchEveryServerIsFourHopsAway) {
  const auto topology = cluster_of(9, 8, 4, "{kind: switch}");
  for (std::uint32_t to = 1; to < 72; ++to) {
    EXPECT_EQ(path(*topology, EntityId(0), EntityId(to)).hops, to < 8 ? 2U : 4U);
  }
}

// Between servers no way is faster; with rails one from rail to rail is, over the hub of a server,
// which only software can take.
TEST(Cluster, RoutesAreShortest) {
  for (const Shape& shape : shapes) {
    const auto topology = topology_of(shape);
    const auto shortest = make_routing("shortest", *topology);
    const std::uint32_t accelerators = topology->computing_nodes();
    const auto a = static_cast<std::uint32_t>(shape.accelerators);
    const std::uint32_t share = topology->cluster()->share();
    for (std::uint32_t from = 0; from < accelerators; ++from) {
      for (std::uint32_t to = 0; to < accelerators; ++to) {
        const bool same_rail = from % a / share == to % a / share;
        if (from / a != to / a && (same_rail || !shape.rails)) {
          EXPECT_EQ(path(*topology, EntityId(from), EntityId(to)).latency,
                    path_between(*topology, *shortest, EntityId(from), EntityId(to)).latency);
        }
      }
    }
  }
}

// Every accelerator sends to the one `shift` servers on: with as many spines as a leaf has NICs no
// fabric link carries two of these flows (Zahavi 2012: shifts are free of contention).
TEST(Cluster, SpreadsShiftsEvenlyOverTheSpines) {
  for (const bool rails : {false, true}) {
    const Shape shape{12, 4, 4, 4, rails, rails ? 4 : 16};
    const auto topology = topology_of(shape);
    const auto routing = make_routing("cluster", *topology);
    for (std::uint32_t shift = 1; shift < 12; ++shift) {
      std::map<std::pair<std::uint32_t, unsigned>, int> flows;
      for (std::uint32_t from = 0; from < 48; ++from) {
        const EntityId to((from + 4 * shift) % 48);
        for (EntityId here(from); here != to;) {
          const unsigned port = routing->next_port(here, to);
          const Link link = topology->link(here, port);
          if (link.link_class == 3) {
            ++flows[{here.value(), port}];
          }
          here = link.to;
        }
      }
      for (const auto& [link, count] : flows) {
        EXPECT_EQ(count, 1) << shift << ' ' << link.first;
      }
    }
  }
}

// Half of the leaves against the other half: links to the spines of one half, 50 GB/s each.
TEST(Cluster, HasTheBisectionThatItsFabricGives) {
  const auto topology = topology_of(Shape{8, 4, 4, 2, true, 3});
  std::uint64_t up = 0;
  for (std::uint32_t n = 0; n < topology->nodes(); ++n) {
    for (unsigned port = 0; port < topology->ports(EntityId(n)); ++port) {
      const Link link = topology->link(EntityId(n), port);
      const bool from_leaf = topology->node_name(EntityId(n)).starts_with("leaf");
      if (from_leaf && link.link_class == 3) {
        up += topology->link_classes()[3].bandwidth.bytes_per_second();
      }
    }
  }
  EXPECT_EQ(up / 2, 8U * 3 * 50'000'000'000);  // 16 leaves, 8 of them in a half
}

TEST(Cluster, OfSixteenThousandAcceleratorsTakesNoTimeOrMemory) {
  const auto begin = std::chrono::steady_clock::now();
  const Machine machine = testing::machine_of(
      "topology: " + testing::cluster_text(2048, 8, 8, fat_tree(32, true, 32)) +
      "\ndram: {at: each, bandwidth: 1 TB/s, latency: 100 ns, capacity: 80 GB}\n");
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(machine.topology->computing_nodes(), 16'384U);
  EXPECT_EQ(machine.channels.size(), 16'384U);
  EXPECT_LT(machine.topology->resident_bytes(), 1000U);
  EXPECT_LT(machine.resident_bytes(), 4U << 20);
  EXPECT_LT(spent.count(), 1.0);  // some 0.01 s; sanitizers and busy machines take longer
}

TEST(Servers, StayWholeOverRanks) {
  const auto topology = topology_of(Shape{10, 4, 2, 3, true, 4});
  for (int ranks = 1; ranks <= 10; ++ranks) {
    const Partition partition = partitioners().at("servers")(*topology, ranks, {});
    const Cluster cluster = *topology->cluster();
    std::vector<int> servers(static_cast<std::size_t>(ranks));
    for (std::uint32_t server = 0; server < 10; ++server) {
      const std::uint32_t owner = partition.owner[cluster.hub(server).value()];
      ++servers[owner];
      for (std::uint32_t i = 0; i < 4; ++i) {
        EXPECT_EQ(partition.owner[cluster.accelerator(server, i).value()], owner);
        EXPECT_EQ(partition.owner[cluster.nic(server, i / 2).value()], owner);
      }
    }
    EXPECT_GE(*std::min_element(servers.begin(), servers.end()), 1);
    EXPECT_LE(*std::max_element(servers.begin(), servers.end()), (10 + ranks - 1) / ranks + 1);
    EXPECT_LE(partition.imbalance, 2.0) << ranks;
  }
}

TEST(Servers, GoByWeight) {
  const auto topology = topology_of(Shape{4, 2, 1, 4, false, 1});
  std::vector<std::uint32_t> weights(topology->nodes(), 0);
  weights[0] = 30;  // of the first server
  for (std::uint32_t accelerator = 2; accelerator < 8; ++accelerator) {
    weights[accelerator] = 5;
  }
  const Partition partition = partitioners().at("servers")(*topology, 2, weights);
  EXPECT_THAT(std::vector<std::uint32_t>(partition.owner.begin(), partition.owner.begin() + 8),
              ElementsAre(0, 0, 1, 1, 1, 1, 1, 1));
}

// More ranks than servers: accelerators are shared out.
TEST(Servers, AreCutWhenThereAreFewerThanRanks) {
  const auto topology = topology_of(Shape{2, 4, 2, 2, false, 1});
  for (int ranks = 3; ranks <= 8; ++ranks) {
    const Partition partition = partitioners().at("servers")(*topology, ranks, {});
    for (const auto& members : partition.members) {
      EXPECT_TRUE(topology->computes(members.front()));
    }
  }
  EXPECT_THROW(partitioners().at("servers")(*topology, 9, {}), ConfigError);
  EXPECT_THROW(partitioners().at("servers")(*testing::grid_of("mesh", 2, 2), 2, {}), ConfigError);
}

// Each leaf goes with its server, so that only links of the fabric, of 4 ns, are cut.
TEST(Servers, AreAsFarApartAsTheirNetwork) {
  const auto topology = topology_of(Shape{4, 4, 2, 1, false, 2});
  const Partition partition = partitioners().at("servers")(*topology, 4, {});
  for (int rank = 0; rank < partition.ranks; ++rank) {
    const RegionDelays delays = region_delays(*topology, partition, rank);
    for (const RegionDelays::Direct& pair : delays.direct) {
      EXPECT_GE(pair.delay, ns(4));
    }
    for (const SimTime delay : delays.to) {
      EXPECT_GE(delay, ns(4));
      EXPECT_LE(delay, ns(16));
    }
  }
  EXPECT_EQ(default_partitioner(*topology), "servers");
}

std::string complaint_about(const std::string& topology) {
  const testing::Reading reading = testing::read("topology: " + topology + "\n");
  return reading.complaints.size() == 1 ? reading.complaints.front()
                                        : std::to_string(reading.complaints.size());
}

TEST(Cluster, PointsAtWhatIsWrong) {
  using testing::cluster_text;
  EXPECT_EQ(complaint_about(cluster_text(2, 8, 4, fat_tree(1, false, 1))), "0");
  EXPECT_THAT(complaint_about(cluster_text(2, 8, 3, fat_tree(1, false, 1))),
              HasSubstr("topology.nics: 3 NICs cannot be shared evenly by 8 accelerators"));
  EXPECT_THAT(complaint_about(cluster_text(0, 8, 8, fat_tree(1, false, 1))),
              HasSubstr("topology.nodes: must be"));
  EXPECT_THAT(complaint_about(cluster_text(2, 8, 8, fat_tree(1, false, 0))),
              HasSubstr("topology.fabric.spines: must be"));
  EXPECT_THAT(complaint_about(cluster_text(2, 8, 8, "{kind: switch, spines: 3}")),
              HasSubstr("topology.fabric.spines: is only for 'kind: fat-tree'"));
  EXPECT_THAT(complaint_about(cluster_text(2, 8, 8, "{kind: fat-trea}")),
              HasSubstr("did you mean 'fat-tree'"));
  EXPECT_THAT(complaint_about(cluster_text(100'000'000, 8, 8, fat_tree(1, false, 1))),
              HasSubstr("topology.nodes: accelerators, NICs and switches are 1800000001"));
  EXPECT_THAT(complaint_about(cluster_text(10'000'000, 1, 1, fat_tree(1, false, 1000))),
              HasSubstr("topology.fabric.spines: 10000000 leaves x 1000 spines are too many"));
}

TEST(Cluster, ALeafOfMoreServersThanThereAreTakesAll) {
  const auto topology = topology_of(Shape{3, 2, 1, 20, false, 2});
  EXPECT_EQ(topology->nodes(), 6U + 3 + 3 + 1 + 2);
  EXPECT_EQ(path(*topology, EntityId(0), EntityId(5)).hops, 4U);
}

}  // namespace
}  // namespace tessera::machine::cluster_test
