#include "packet/crossings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "packet/fabric.hpp"
#include "tessera/core/random.hpp"

namespace tessera::network::crossings_test {
namespace {

// Hop by hop.
pdes::Exit walked(const GridFabric& fabric, SimTime latency, const pdes::RegionView& regions,
                  EntityId from, EntityId to) {
  std::int64_t links = 0;
  for (EntityId node = from; node != to;) {
    node = fabric.neighbour(node, fabric.next_port(node, to));
    ++links;
    if (!regions.is_here(node)) {
      return {regions.owner[node.value()], latency * links};
    }
  }
  return {};
}

// A rectangle with a piece bitten out of it, a few more nodes here and there.
std::vector<std::uint32_t> random_owners(RandomStream& random, std::uint32_t rows,
                                         std::uint32_t columns) {
  std::vector<std::uint32_t> owner(std::size_t{rows} * columns, 1);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random.next_below(bound));
  };
  const auto paint = [&](std::uint32_t rank) {
    const std::uint32_t top = below(rows);
    const std::uint32_t left = below(columns);
    const std::uint32_t bottom = top + below(rows - top);
    const std::uint32_t right = left + below(columns - left);
    for (std::uint32_t row = top; row <= bottom; ++row) {
      for (std::uint32_t column = left; column <= right; ++column) {
        owner[row * columns + column] = rank;
      }
    }
  };
  paint(0);
  paint(2);
  paint(0);
  owner[below(rows * columns)] = 0;
  return owner;
}

TEST(Crossings, SayWhereARouteFirstLeavesTheRegion) {
  constexpr std::uint32_t rows = 7;
  constexpr std::uint32_t columns = 9;
  RandomStream random(2026, EntityId(0), 0);
  const std::string torus = testing::mesh(rows, columns, "10 GB/s", "2 ns", "torus");
  for (const auto& [shape, routing] : {std::pair{testing::mesh(rows, columns), std::string("xy")},
                                       {testing::mesh(rows, columns), std::string("yx")},
                                       {torus, std::string("xy")},
                                       {torus, std::string("yx")}}) {
    const testing::Described network = testing::network_of(shape);
    const machine::Topology& topology = *network.machine.topology;
    const GridFabric fabric(topology, routing);
    for (int round = 0; round < 30; ++round) {
      const std::vector<std::uint32_t> owner = random_owners(random, rows, columns);
      const pdes::RegionView regions{owner, 0};
      Crossings<GridFabric> crossings(fabric, topology, regions);
      for (std::uint32_t from = 0; from < owner.size(); ++from) {
        for (std::uint32_t to = 0; to < owner.size(); ++to) {
          const EntityId here(from);
          const EntityId there(to);
          EXPECT_EQ(crossings.exit_of(here, there),
                    walked(fabric, topology.smallest_latency(), regions, here, there))
              << from << " to " << to << ", " << routing << ", round " << round;
        }
      }
    }
  }
}

// A packet goes on no sooner than the links on its way are free, and only the last one of a message
// is an event at its target.
TEST(Crossings, WaitForTheLinksOnTheWay) {
  const testing::Described network =
      testing::network_of(testing::mesh(1, 4, "10 GB/s", "2 ns", "mesh"));
  const machine::Topology& topology = *network.machine.topology;
  const GridFabric fabric(topology, "xy");
  const std::vector<std::uint32_t> owner{0, 0, 1, 1};
  Crossings<GridFabric> crossings(fabric, topology, {owner, 0});
  const auto ps = [](std::int64_t count) { return SimTime::from_ps(count); };
  SimTime free;
  const auto free_at = [&](EntityId node, unsigned /*port*/) {
    return node == EntityId(1) ? free : SimTime::zero();
  };
  const auto promised = [&] { return crossings.outlook(1, ps(1000), free_at).at; };
  crossings.add(ps(1000), EntityId(0), EntityId(2), false);
  EXPECT_TRUE(promised().is_never()) << "nothing is raised at the target";
  crossings.add(ps(1000), EntityId(0), EntityId(2), true);
  EXPECT_EQ(promised(), ps(5000)) << "two links";
  free = ps(9000);
  EXPECT_EQ(promised(), ps(11000)) << "the second one is in use";
  crossings.add(ps(1000), EntityId(0), EntityId(3), false);
  EXPECT_EQ(promised(), ps(11000)) << "it goes on beyond the border";
  EXPECT_TRUE(crossings.outlook(1, ps(1001), free_at).at.is_never());
}

TEST(Crossings, SayTheLeastTimeOfAMessage) {
  constexpr std::uint32_t rows = 5;
  constexpr std::uint32_t columns = 6;
  const std::vector<std::uint32_t> owner(std::size_t{rows} * columns, 0);
  for (const std::string shape : {"mesh", "torus"}) {
    const testing::Described network =
        testing::network_of(testing::mesh(rows, columns, "10 GB/s", "2 ns", shape));
    const machine::Topology& topology = *network.machine.topology;
    const GridFabric fabric(topology, "xy");
    Crossings<GridFabric> crossings(fabric, topology, {owner, 0});
    for (std::uint32_t from = 0; from < owner.size(); ++from) {
      for (std::uint32_t to = 0; to < owner.size(); ++to) {
        if (from == to) {
          continue;
        }
        std::int64_t links = 0;
        for (EntityId node(from); node != EntityId(to); ++links) {
          node = fabric.neighbour(node, fabric.next_port(node, EntityId(to)));
        }
        EXPECT_EQ(crossings.least_time(EntityId(from), EntityId(to), Bytes(1000)),
                  SimTime::from_ps(2000) * links +
                      floor_time(Bytes(1000), Bandwidth::bytes_per_second(10'000'000'000)))
            << shape << ", " << from << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::network::crossings_test
