#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "reading.hpp"
#include "tessera/machine/partition/partition.hpp"

namespace tessera::machine::region_delays_test {
namespace {

using testing::cluster_of;
using testing::fat_tree;
using testing::grid_of;
using testing::star_of;
using testing::wafer_of;

// Floyd–Warshall over the fastest cut link of each pair; the diagonal over one region in between.
std::vector<SimTime> brute_force(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  std::vector<SimTime> delays(ranks * ranks, SimTime::never());
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      const Link link = topology.link(EntityId(node), port);
      if (link.to.valid() && partition.owner[node] != partition.owner[link.to.value()]) {
        SimTime& delay = delays[partition.owner[node] * ranks + partition.owner[link.to.value()]];
        delay = std::min(delay, topology.link_classes()[link.link_class].latency);
      }
    }
  }
  for (std::size_t k = 0; k < ranks; ++k) {
    for (std::size_t j = 0; j < ranks; ++j) {
      for (std::size_t i = 0; i < ranks; ++i) {
        if (i != j) {
          delays[j * ranks + i] =
              std::min(delays[j * ranks + i], delays[j * ranks + k] + delays[k * ranks + i]);
        }
      }
    }
  }
  for (std::size_t j = 0; j < ranks; ++j) {
    for (std::size_t k = 0; k < ranks; ++k) {
      if (k != j) {
        delays[j * ranks + j] =
            std::min(delays[j * ranks + j], delays[j * ranks + k] + delays[k * ranks + j]);
      }
    }
  }
  return delays;
}

// From any node of one region to any of another, node by node.
std::vector<SimTime> over_nodes(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  std::vector<SimTime> delays(ranks * ranks, SimTime::never());
  for (std::size_t from = 0; from < ranks; ++from) {
    using Entry = std::pair<SimTime, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::vector<SimTime> reached(topology.nodes(), SimTime::never());
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      if (partition.owner[node] == from) {
        reached[node] = SimTime::zero();
        open.emplace(SimTime::zero(), node);
      }
    }
    while (!open.empty()) {
      const auto [at, node] = open.top();
      open.pop();
      for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
        const Link link = topology.link(EntityId(node), port);
        if (!link.to.valid()) {
          continue;
        }
        const SimTime arrival = at + topology.link_classes()[link.link_class].latency;
        if (arrival < reached[link.to.value()]) {
          reached[link.to.value()] = arrival;
          open.emplace(arrival, link.to.value());
        }
      }
    }
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      SimTime& delay = delays[from * ranks + partition.owner[node]];
      delay = std::min(delay, reached[node]);
    }
  }
  return delays;
}

// [ranks * ranks], row: from, as each rank sees its own ways out; its ways in must agree.
std::vector<SimTime> all_delays(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  std::vector<SimTime> all;
  for (int rank = 0; rank < partition.ranks; ++rank) {
    const RegionDelays delays = region_delays(topology, partition, rank);
    all.insert(all.end(), delays.to.begin(), delays.to.end());
  }
  for (int rank = 0; rank < partition.ranks; ++rank) {
    const RegionDelays delays = region_delays(topology, partition, rank);
    for (std::size_t from = 0; from < ranks; ++from) {
      EXPECT_EQ(delays.from[from], all[from * ranks + static_cast<std::size_t>(rank)]);
    }
  }
  return all;
}

// [ranks * ranks], row: from.
std::vector<SimTime> all_direct(const Topology& topology, const Partition& partition) {
  const auto ranks = static_cast<std::size_t>(partition.ranks);
  std::vector<SimTime> all(ranks * ranks, SimTime::never());
  for (const RegionDelays::Direct& pair : region_delays(topology, partition, 0).direct) {
    all[pair.from * ranks + pair.to] = pair.delay;
  }
  return all;
}

TEST(RegionDelays, AgreeWithBruteForce) {
  std::vector<std::unique_ptr<Topology>> machines;
  machines.push_back(grid_of("mesh", 6, 7));
  machines.push_back(grid_of("torus", 5, 6));
  machines.push_back(wafer_of(3, 3));
  machines.push_back(star_of(9));
  machines.push_back(cluster_of(5, 4, 2, fat_tree(2, true, 3)));
  machines.push_back(cluster_of(9, 2, 1, "{kind: switch}"));
  for (const auto& machine : machines) {
    for (const char* name : {"blocks", "metis", "servers", "stripes"}) {
      for (int ranks = 1; ranks <= 9; ++ranks) {
        const bool fits = std::string(name) == "blocks"    ? machine->grid().has_value()
                          : std::string(name) == "servers" ? machine->cluster().has_value()
                                                           : true;
        if (fits) {
          const Partition partition = partitioners().at(name)(*machine, ranks, {});
          const auto delays = all_delays(*machine, partition);
          const auto chains = brute_force(*machine, partition);
          if (!machine->grid()) {
            EXPECT_EQ(delays, chains) << name << ' ' << ranks;
            continue;
          }
          const auto ways = over_nodes(*machine, partition);
          for (std::size_t pair = 0; pair < delays.size(); ++pair) {
            EXPECT_GE(delays[pair], chains[pair]) << name << ' ' << ranks;
            if (pair % static_cast<std::size_t>(ranks + 1) != 0) {
              EXPECT_LE(delays[pair], ways[pair]) << name << ' ' << ranks;
            }
          }
        }
      }
    }
  }
}

// Rectangles on a mesh with links of one kind: the steps between them, no less and no more.
TEST(RegionDelays, OfRectanglesAreExact) {
  for (const char* kind : {"mesh", "torus"}) {
    const auto machine = grid_of(kind, 12, 10);
    for (const int ranks : {3, 4, 6, 9}) {
      const Partition partition = partitioners().at("blocks")(*machine, ranks, {});
      const auto delays = all_delays(*machine, partition);
      const auto ways = over_nodes(*machine, partition);
      for (std::size_t pair = 0; pair < delays.size(); ++pair) {
        if (pair % static_cast<std::size_t>(ranks + 1) != 0) {
          EXPECT_EQ(delays[pair], ways[pair]) << kind << ' ' << ranks << ' ' << pair;
        }
      }
    }
  }
}

// Three regions of three in a row, 2 ns a link: 2 ns next door, 8 ns to the far end, 4 ns there and
// back.
TEST(RegionDelays, OfARow) {
  const auto mesh = grid_of("mesh", 1, 9);
  const auto delays = all_delays(*mesh, partitioners().at("stripes")(*mesh, 3, {}));
  const auto ns = [](int n) { return SimTime::from_ps(1000) * n; };
  EXPECT_EQ(delays, (std::vector<SimTime>{ns(4), ns(2), ns(8),  //
                                          ns(2), ns(4), ns(2),  //
                                          ns(8), ns(2), ns(4)}));
}

// Where crossing a region counts nothing, the least delay is a chain of direct ones.
TEST(DirectDelays, MakeRegionDelays) {
  const auto star = cluster_of(5, 4, 2, fat_tree(2, true, 3));
  const Partition partition = partitioners().at("stripes")(*star, 6, {});
  const auto closed = all_delays(*star, partition);
  const auto direct = all_direct(*star, partition);
  std::size_t apart = 0;
  for (std::size_t j = 0; j < 6; ++j) {
    EXPECT_TRUE(direct[j * 6 + j].is_never());
    for (std::size_t i = 0; i < 6; ++i) {
      apart += i != j && direct[j * 6 + i].is_never() ? 1 : 0;
      SimTime shortest = direct[j * 6 + i];
      for (std::size_t k = 0; k < 6; ++k) {
        shortest = std::min(shortest, direct[j * 6 + k] + closed[k * 6 + i]);
      }
      EXPECT_EQ(closed[j * 6 + i], shortest);
    }
  }
  EXPECT_GT(apart, 0U);
}

TEST(DirectDelays, OfARow) {
  const auto mesh = grid_of("mesh", 1, 9);
  const auto delays = all_direct(*mesh, partitioners().at("stripes")(*mesh, 3, {}));
  const SimTime link = SimTime::from_ps(2000);
  const SimTime never = SimTime::never();
  EXPECT_EQ(delays, (std::vector<SimTime>{never, link, never,  //
                                          link, never, link,   //
                                          never, link, never}));
}

TEST(RegionDelays, OfOneRankIsNever) {
  const auto mesh = grid_of("mesh", 3, 3);
  const auto delays = all_delays(*mesh, partitioners().at("blocks")(*mesh, 1, {}));
  ASSERT_EQ(delays.size(), 1U);
  EXPECT_TRUE(delays[0].is_never());
}

}  // namespace
}  // namespace tessera::machine::region_delays_test
