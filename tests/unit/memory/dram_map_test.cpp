// Regions of tiles that have no addresses, in the memory that serves them.
#include "dram/memory_map.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness.hpp"

namespace tessera::memory::dram_map_test {
namespace {

using testing::Access;
using testing::described;
using testing::Described;
using testing::Outcome;
using testing::run;

std::string mesh(std::uint32_t rows, std::uint32_t columns, const std::string& dram,
                 const std::string& memory) {
  return "topology: {kind: mesh, rows: " + std::to_string(rows) +
         ", columns: " + std::to_string(columns) + ", bandwidth: 1 TB/s, latency: 1 ns}\n" +
         "dram: {" + dram + ", bandwidth: 1 GB/s, latency: 0 ns}\n" +
         "network: {model: analytical}\nmemory: {model: dram, request: 0 B, " + memory + "}\n";
}

DramParameters parameters_of(bool spread) {
  DramParameters parameters;
  parameters.spec = dram_presets().at("DDR4")();
  parameters.transfer = Bytes(4096);
  parameters.spread = spread;
  return parameters;
}

// Each lies in the capacity, and none over another's.
void expect_own_regions(const machine::Machine& machine, bool spread) {
  const DramParameters parameters = parameters_of(spread);
  const DramMemoryMap map(machine, parameters);
  const std::uint64_t capacity =
      parameters.spec.organization.capacity().count() * (spread ? machine.channels.size() : 1);
  std::set<std::tuple<std::uint32_t, std::uint64_t>> seen;
  for (std::uint32_t node = 0; node < machine.channel_of.size(); ++node) {
    const EntityId tile(node);
    const std::uint64_t size = map.region_bytes(tile, tile);
    const std::uint64_t first = map.region_address(tile, tile, 0);
    EXPECT_LE(first / size * size + size, capacity) << node;
    const std::uint32_t memory = spread ? 0 : machine.channel_of[node];
    EXPECT_TRUE(seen.insert({memory, first / size}).second) << node;
    EXPECT_EQ(map.region_address(tile, tile, size), first) << node;
  }
}

TEST(DramMap, TilesOfAMemoryHaveRegionsOfTheirOwn) {
  const std::string preset = "preset: DDR4";
  for (const std::string dram : {"at: nodes, nodes: [0]", "at: edge, edges: [west]"}) {
    for (const std::uint32_t columns : {16U, 17U, 40U}) {
      const Described machine = described(mesh(16, columns, dram, preset));
      expect_own_regions(machine.machine, false);
      expect_own_regions(machine.machine, true);
    }
  }
}

// Who asks for others has one for each of them, too.
TEST(DramMap, WhoAsksForOthersKeepsThemApart) {
  const Described machine = described(mesh(20, 20, "at: nodes, nodes: [0, 399]", "preset: DDR4"));
  const DramParameters parameters = parameters_of(false);
  const DramMemoryMap map(machine.machine, parameters);
  const EntityId asking(399);
  std::set<std::uint64_t> seen;
  for (std::uint32_t node = 0; node < 399; ++node) {
    const EntityId tile(node);
    EXPECT_TRUE(
        seen.insert(map.region_address(tile, asking, 0) / map.region_bytes(tile, asking)).second);
  }
}

// Machines with no more nodes than regions have 1/256 of the capacity for each, by its number.
TEST(DramMap, SmallMachinesHavePartsOf256) {
  const Described machine = described(mesh(16, 16, "at: edge, edges: [west]", "preset: DDR4"));
  const DramParameters parameters = parameters_of(false);
  const DramMemoryMap map(machine.machine, parameters);
  const std::uint64_t part = parameters.spec.organization.capacity().count() / 256;
  for (const std::uint32_t node : {0U, 7U, 255U}) {
    const EntityId tile(node);
    EXPECT_EQ(map.region_bytes(tile, tile), part);
    EXPECT_EQ(map.region_address(tile, tile, 0) / part, node);
  }
}

// Two tiles 256 apart read the first bytes of theirs in turn. In one region the second would find
// the row open that the first has opened.
TEST(DramMap, TilesFarApartShareNoRows) {
  const Described machine =
      described(mesh(1, 512, "at: nodes, nodes: [511]", "preset: DDR4, refresh: false"));
  std::vector<Access> accesses;
  for (std::uint16_t i = 0; i < 20; ++i) {
    accesses.push_back({i * 10'000'000, i % 2 == 0 ? 0U : 256U, 64, false, i, Address::next()});
  }
  const Outcome outcome = run(machine, accesses);
  ASSERT_EQ(outcome.totals.size(), 1U);
  EXPECT_EQ(outcome.done.size(), 20U);
  EXPECT_LE(outcome.totals[0].hits, 18U);
}

}  // namespace
}  // namespace tessera::memory::dram_map_test
