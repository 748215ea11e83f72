#include <gtest/gtest.h>

#include <algorithm>

#include "reading.hpp"
#include "tessera/machine/partition.hpp"

namespace tessera::machine {
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
          EXPECT_EQ(region_delays(*machine, partition), brute_force(*machine, partition))
              << name << ' ' << ranks;
        }
      }
    }
  }
}

TEST(RegionDelays, AreClosedUnderComposition) {
  const auto wafer = wafer_of(3, 4);
  const Partition partition = partitioners().at("blocks")(*wafer, 8, {});
  const auto delays = region_delays(*wafer, partition);
  for (std::size_t j = 0; j < 8; ++j) {
    for (std::size_t k = 0; k < 8; ++k) {
      for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_LE(delays[j * 8 + i], delays[j * 8 + k] + delays[k * 8 + i]);
      }
    }
  }
}

// Three regions in a row, 2 ns a link: 2 ns next door, 4 ns to the far end, 4 ns there and back.
TEST(RegionDelays, OfARow) {
  const auto mesh = grid_of("mesh", 1, 9);
  const auto delays = region_delays(*mesh, partitioners().at("stripes")(*mesh, 3, {}));
  const auto ns = [](int n) { return SimTime::from_ps(1000) * n; };
  EXPECT_EQ(delays, (std::vector<SimTime>{ns(4), ns(2), ns(4),  //
                                          ns(2), ns(4), ns(2),  //
                                          ns(4), ns(2), ns(4)}));
}

// A closed delay is a chain of direct ones.
TEST(DirectDelays, CloseToRegionDelays) {
  const auto wafer = wafer_of(3, 4);
  const Partition partition = partitioners().at("stripes")(*wafer, 6, {});
  const auto closed = region_delays(*wafer, partition);
  const auto direct = direct_delays(*wafer, partition);
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
  const auto delays = direct_delays(*mesh, partitioners().at("stripes")(*mesh, 3, {}));
  const SimTime link = SimTime::from_ps(2000);
  const SimTime never = SimTime::never();
  EXPECT_EQ(delays, (std::vector<SimTime>{never, link, never,  //
                                          link, never, link,   //
                                          never, link, never}));
}

TEST(RegionDelays, OfOneRankIsNever) {
  const auto mesh = grid_of("mesh", 3, 3);
  const auto delays = region_delays(*mesh, partitioners().at("blocks")(*mesh, 1, {}));
  ASSERT_EQ(delays.size(), 1U);
  EXPECT_TRUE(delays[0].is_never());
}

}  // namespace
}  // namespace tessera::machine
