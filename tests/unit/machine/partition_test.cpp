#include "tessera/machine/partition/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>

#include "reading.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"
#include "tessera/machine/graph/parts.hpp"
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine::partition_test {
namespace {

using ::testing::ElementsAre;
using testing::grid_of;
using ::testing::HasSubstr;
using testing::star_of;
using testing::wafer_of;

Partition cut(const std::string& name, const Topology& topology, int ranks,
              const std::vector<std::uint32_t>& weights = {}) {
  return partitioners().at(name)(topology, ranks, weights);
}

// Every node has one owner and stands once among its members, no rank is empty, and the figures
// agree with a count by hand.
void expect_consistent(const Partition& partition, const Topology& topology, int ranks) {
  ASSERT_EQ(partition.ranks, ranks);
  ASSERT_EQ(partition.owner.size(), topology.nodes());
  ASSERT_EQ(partition.members.size(), static_cast<std::size_t>(ranks));
  std::set<EntityId> seen;
  std::size_t largest = 0;
  for (std::uint32_t rank = 0; rank < partition.members.size(); ++rank) {
    EXPECT_FALSE(partition.members[rank].empty());
    largest = std::max(largest, partition.members[rank].size());
    for (const EntityId node : partition.members[rank]) {
      EXPECT_TRUE(seen.insert(node).second);
      EXPECT_EQ(partition.owner[node.value()], rank);
    }
  }
  EXPECT_EQ(seen.size(), topology.nodes());
  EXPECT_DOUBLE_EQ(partition.imbalance, static_cast<double>(largest) * ranks / topology.nodes());
  std::uint64_t links_cut = 0;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      const EntityId to = topology.link(EntityId(node), port).to;
      links_cut += to.valid() && partition.owner[to.value()] != partition.owner[node] ? 1 : 0;
    }
  }
  EXPECT_EQ(partition.cut_links, links_cut);
}

TEST(Partitioners, AreThese) {
  EXPECT_THAT(partitioners().names(),
              ElementsAre("blocks", "columns", "metis", "servers", "stripes"));
  EXPECT_EQ(default_partitioner(*grid_of("mesh", 2, 2)), "blocks");
  EXPECT_EQ(default_partitioner(*star_of(2)), "metis");
}

TEST(Partitioners, GiveEveryNodeOnce) {
  for (const char* kind : {"mesh", "torus"}) {
    for (const auto& [rows, columns] :
         std::vector<std::pair<int, int>>{{1, 9}, {9, 1}, {3, 3}, {3, 5}, {7, 11}, {17, 33}}) {
      const auto grid = grid_of(kind, rows, columns);
      for (const char* name : {"blocks", "columns", "metis", "stripes"}) {
        for (int ranks = 1; ranks <= 9; ++ranks) {
          SCOPED_TRACE(std::string(kind) + ' ' + std::to_string(rows) + 'x' +
                       std::to_string(columns) + ' ' + name + ' ' + std::to_string(ranks));
          expect_consistent(cut(name, *grid, ranks), *grid, ranks);
        }
      }
    }
  }
  const auto star = star_of(8);
  for (int ranks = 1; ranks <= 9; ++ranks) {
    expect_consistent(cut("metis", *star, ranks), *star, ranks);
    expect_consistent(cut("stripes", *star, ranks), *star, ranks);
  }
}

TEST(Blocks, AreQuartersOnFourRanks) {
  const auto mesh = grid_of("mesh", 8, 8);
  const Partition partition = cut("blocks", *mesh, 4);
  EXPECT_EQ(partition.cut_links, 2U * (8 + 8));
  EXPECT_EQ(partition.imbalance, 1.0);
  const auto wafer = wafer_of(2, 2);  // 4 × 6 cores
  EXPECT_EQ(cut("blocks", *wafer, 2).cut_links, 2U * 4);
}

// Straight cuts differ by one row or column, bisection by little more; a prime number of ranks does
// not make slivers: 7 strips of 210 × 210 would cut 2520 directed links.
TEST(Blocks, AreBalancedWithFewCutLinks) {
  const auto mesh = grid_of("mesh", 210, 210);
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const Partition partition = cut("blocks", *mesh, ranks);
    EXPECT_LE(partition.imbalance, 1.1) << ranks;
  }
  EXPECT_LT(cut("blocks", *mesh, 7).cut_links, 1800U);
}

// As many ranks as nodes, also where ranks has no product that fits.
TEST(Blocks, GoDownToOneNodeARank) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 7}, {2, 3}, {3, 5}, {5, 5}}) {
    const auto mesh = grid_of("mesh", rows, columns);
    for (int ranks = 1; ranks <= rows * columns; ++ranks) {
      SCOPED_TRACE(ranks);
      expect_consistent(cut("blocks", *mesh, ranks), *mesh, ranks);
    }
  }
}

TEST(Blocks, CutATorusAllRound) {
  EXPECT_EQ(cut("blocks", *grid_of("torus", 4, 8), 2).cut_links, 4U * 4);
  EXPECT_EQ(cut("blocks", *grid_of("torus", 1, 2), 2).cut_links, 4U);
}

// Neighbours stand close together: the first 256 members are the first 16 × 16 square.
TEST(Blocks, StoreNodesInSmallSquares) {
  const auto mesh = grid_of("mesh", 40, 40);
  const Partition partition = cut("blocks", *mesh, 1);
  const Grid grid = *mesh->grid();
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_LT(grid.row_of(partition.members[0][i]), 16U);
    EXPECT_LT(grid.column_of(partition.members[0][i]), 16U);
  }
  EXPECT_EQ(partition.members[0][1], EntityId(1));
  EXPECT_EQ(partition.members[0][16], grid.node(1, 0));
  EXPECT_EQ(partition.members[0][256], grid.node(0, 16));
}

// The left half of the nodes is three times as heavy as the right.
TEST(Partitioners, FollowWeights) {
  const auto mesh = grid_of("mesh", 12, 16);
  std::vector<std::uint32_t> weights;
  for (std::uint32_t node = 0; node < mesh->nodes(); ++node) {
    weights.push_back(node % 16 < 8 ? 3 : 1);
  }
  for (const char* name : {"blocks", "columns", "metis", "stripes"}) {
    for (const int ranks : {2, 3, 4, 5}) {
      EXPECT_LE(cut(name, *mesh, ranks, weights).imbalance, 1.15) << name << ranks;
    }
  }
  // Weights that overflow the integers of METIS, and weights of nothing.
  const std::vector<std::uint32_t> huge(mesh->nodes(), 4'000'000'000U);
  EXPECT_LE(cut("metis", *mesh, 4, huge).imbalance, 1.1);
  const std::vector<std::uint32_t> zero(mesh->nodes(), 0);
  for (const char* name : {"blocks", "columns", "metis", "stripes"}) {
    const Partition partition = cut(name, *mesh, 5, zero);
    EXPECT_EQ(partition.imbalance, 1.0);
    for (const auto& members : partition.members) {
      EXPECT_FALSE(members.empty());
    }
  }
}

TEST(Metis, IsTheSameEveryTime) {
  const auto torus = grid_of("torus", 12, 13);
  const Partition first = cut("metis", *torus, 5);
  for (int repeat = 0; repeat < 3; ++repeat) {
    cut("metis", *grid_of("mesh", 5, 6), 3);  // another one between must not matter
    EXPECT_EQ(cut("metis", *torus, 5).owner, first.owner);
  }
}

TEST(Stripes, AreRunsOfNumbers) {
  const auto mesh = grid_of("mesh", 1, 10);
  const Partition partition = cut("stripes", *mesh, 3);
  EXPECT_THAT(partition.owner, ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 2));
  EXPECT_EQ(partition.cut_links, 4U);
}

TEST(Columns, AreRunsDownTheColumns) {
  const auto mesh = grid_of("mesh", 2, 3);
  const Partition partition = cut("columns", *mesh, 3);
  EXPECT_THAT(partition.owner, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(partition.cut_links, 8U);
  EXPECT_THAT(cut("columns", *mesh, 2, {5, 1, 1, 1, 1, 1}).owner, ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_THROW(cut("columns", *star_of(4), 2), ConfigError);
}

TEST(Partitioners, RefuseWhatCannotBeCut) {
  const auto message = [](const std::string& name, const Topology& topology, int ranks) {
    try {
      cut(name, topology, ranks);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* name : {"blocks", "columns", "metis", "stripes"}) {
    EXPECT_THAT(message(name, *grid_of("mesh", 2, 3), 7),
                HasSubstr("a machine of 6 nodes cannot be cut over 7 ranks; use fewer ranks"));
    EXPECT_THAT(message(name, *grid_of("mesh", 2, 3), 0), HasSubstr("cannot be cut into 0"));
  }
  EXPECT_THAT(message("blocks", *star_of(4), 2),
              HasSubstr("partitioner 'blocks' needs a grid (mesh, torus, wafer); use 'metis'"));
  EXPECT_THROW(cut("stripes", *star_of(4), 2, {1, 2}), InternalError);
}

TEST(EvenCuts, AreWhereTheSumsReachEvenParts) {
  const auto by_hand = [](const std::vector<std::uint64_t>& loads, std::uint64_t parts) {
    std::uint64_t total = 0;
    for (const std::uint64_t load : loads) {
      total += load;
    }
    std::vector<std::uint32_t> cuts{0};
    for (std::uint64_t part = 1; part < parts; ++part) {
      std::uint32_t item = 0;
      for (std::uint64_t before = 0; before * parts < part * total; ++item) {
        before += loads[item];
      }
      item = std::max(item, cuts.back() + 1);
      cuts.push_back(std::min(item, static_cast<std::uint32_t>(loads.size() - (parts - part))));
    }
    cuts.push_back(static_cast<std::uint32_t>(loads.size()));
    return cuts;
  };
  RandomStream random(7, EntityId(0), 0);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::uint64_t> loads(1 + random.next_below(12));
    for (std::uint64_t& load : loads) {
      load = random.next_below(3) == 0 ? 0 : random.next_below(50);
    }
    for (std::uint32_t parts = 1; parts <= loads.size(); ++parts) {
      ASSERT_EQ(even_cuts(RunOfLoads(loads), parts), by_hand(loads, parts)) << trial;
    }
  }
}

// It takes signals while it is at work, and answers with METIS_ERROR or METIS_ERROR_MEMORY.
TEST(Metis, SaysWhatEndedIt) {
  constexpr int input = -2;
  constexpr int memory = -3;
  constexpr int other = -4;
  EXPECT_NO_THROW(require_metis_result(1, 7));
  EXPECT_THROW(require_metis_result(input, 7), InternalError);
  EXPECT_THROW(require_metis_result(memory, 7), std::bad_alloc);
  try {
    require_metis_result(other, 7);
    FAIL() << "nothing was thrown";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), HasSubstr("METIS was ended by a signal (SIGTERM) while it cut a "
                                        "graph of 7 vertices"));
  }
}

}  // namespace
}  // namespace tessera::machine::partition_test
