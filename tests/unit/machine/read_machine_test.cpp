#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.hpp"
#include "tessera/machine/macs_per_pe.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::read_machine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::machine_of;
using testing::read;

const std::string mesh =
    "topology: {kind: mesh, rows: 3, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n";

std::vector<EntityId> channel_nodes(const std::string& dram) {
  std::vector<EntityId> nodes;
  for (const MemoryChannel& channel :
       machine_of(mesh + "dram: {" + dram + ", bandwidth: 1 GB/s, latency: 10 ns}\n").channels) {
    nodes.push_back(channel.node);
  }
  return nodes;
}

std::vector<EntityId> ids(std::initializer_list<std::uint32_t> numbers) {
  std::vector<EntityId> nodes;
  for (const std::uint32_t number : numbers) {
    nodes.emplace_back(number);
  }
  return nodes;
}

TEST(ReadMachine, ReadsEveryKey) {
  const Machine machine = machine_of(
      "name: test\n" + mesh +
      "tile: {peak: {fp16: 16 TFLOP/s, int8: 32 TOPS}, efficiency: 0.5, sram: 3 MiB, "
      "sram_bandwidth: 1 TB/s, operands: sram}\n"
      "dram: {at: edge, edges: [west], bandwidth: 64 GB/s, latency: 100 ns, capacity: 16 GB}\n");
  EXPECT_EQ(machine.name, "test");
  EXPECT_EQ(machine.topology->nodes(), 12U);
  EXPECT_EQ(machine.tile.peak.at(DataType::int8), FlopRate::flops_per_second(32'000'000'000'000));
  EXPECT_EQ(machine.tile.rate(DataType::fp16), FlopRate::flops_per_second(8'000'000'000'000));
  EXPECT_EQ(machine.tile.sram, Bytes(3 << 20));
  EXPECT_EQ(machine.tile.sram_bandwidth, Bandwidth::bytes_per_second(1'000'000'000'000));
  ASSERT_EQ(machine.channels.size(), 3U);
  EXPECT_EQ(machine.channels[1].node, EntityId(4));
  EXPECT_EQ(machine.channels[1].bandwidth, Bandwidth::bytes_per_second(64'000'000'000));
  EXPECT_EQ(machine.channels[1].latency, SimTime::from_ps(100'000));
  EXPECT_EQ(machine.channels[1].capacity, Bytes(16'000'000'000));
  EXPECT_GE(machine.resident_bytes(), sizeof(Machine) + 12 * sizeof(std::uint32_t));
}

TEST(ReadMachine, PutsOperandsIntoDramWhereEveryTileHasSome) {
  const std::string tile =
      "tile: {peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 5 TB/s, operands: dram}\n";
  const std::string rest = ", bandwidth: 64 GB/s, latency: 100 ns}\n";
  const Machine machine = machine_of(mesh + tile + "dram: {at: each" + rest);
  EXPECT_TRUE(machine.tile.operands_in_dram);
  EXPECT_EQ(machine.operand_bandwidth(machine.tile), Bandwidth::bytes_per_second(64'000'000'000));
  const std::string complaint =
      "m.yaml:2:57: error: tile.operands: 'dram' needs a channel at every tile; write 'dram: {at: "
      "each}'";
  EXPECT_THAT(read(mesh + tile).complaints, ElementsAre(complaint));
  EXPECT_THAT(read(mesh + tile + "dram: {at: edge, edges: [west]" + rest).complaints,
              ElementsAre(complaint));
  EXPECT_EQ(read(mesh + tile + "dram: {at: eech" + rest).complaints.size(), 1U);
  const Machine sram =
      machine_of(mesh + "tile: {peak: {fp16: 1 TFLOP/s}, sram_bandwidth: 5 TB/s}\n");
  EXPECT_FALSE(sram.tile.operands_in_dram);
  EXPECT_EQ(sram.operand_bandwidth(sram.tile), Bandwidth::bytes_per_second(5'000'000'000'000));
}

TEST(ReadMachine, NeedsOnlyATopology) {
  const Machine machine = machine_of(mesh);
  EXPECT_EQ(machine.name, "machine");
  EXPECT_THAT(machine.tile.peak, IsEmpty());
  EXPECT_THAT(machine.channels, IsEmpty());
  EXPECT_THAT(machine.channel_of, IsEmpty());
}

TEST(ReadMachine, PlacesChannels) {
  EXPECT_EQ(channel_nodes("at: edge, edges: [west, east]"), ids({0, 3, 4, 7, 8, 11}));
  EXPECT_EQ(channel_nodes("at: edge, edges: [north, west]"), ids({0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(channel_nodes("at: edge, edges: [south]"), ids({8, 9, 10, 11}));
  EXPECT_EQ(channel_nodes("at: nodes, nodes: [7, 2]"), ids({7, 2}));
  EXPECT_EQ(channel_nodes("at: nodes, nodes: ['tile (1,2)']"), ids({6}));
  EXPECT_EQ(channel_nodes("at: each").size(), 12U);
  EXPECT_THAT(channel_nodes("at: none, edges: [west]"), IsEmpty());
}

TEST(ReadMachine, GivesSwitchesNoChannelOfTheirOwn) {
  const Machine machine = machine_of(
      "topology: {kind: graph, nodes: [{name: hub, kind: switch}, {name: gpu, count: 3}], links: "
      "[{from: gpu, to: hub, bandwidth: 1 GB/s, latency: 1 ns}]}\n"
      "dram: {at: each, bandwidth: 1 GB/s, latency: 0 ns}\n");
  EXPECT_EQ(machine.channels.size(), 3U);
  EXPECT_THAT(machine.channel_of, ElementsAre(0, 0, 1, 2));
}

// Against every channel by hand: fewest hops, then the lowest index.
TEST(ReadMachine, ServesNodesFromTheNearestChannel) {
  for (const char* kind : {"mesh", "torus"}) {
    const Machine machine = machine_of(
        std::string("topology: {kind: ") + kind +
        ", rows: 7, columns: 9, bandwidth: 1 GB/s, latency: 1 ns}\n"
        "dram: {at: nodes, nodes: [40, 0, 62, 5, 31], bandwidth: 1 GB/s, latency: 1 ns}\n");
    const auto routing = make_routing("xy", *machine.topology);
    for (std::uint32_t node = 0; node < machine.topology->nodes(); ++node) {
      std::uint32_t nearest = 0;
      std::uint32_t fewest = 1000;
      for (std::uint32_t channel = 0; channel < machine.channels.size(); ++channel) {
        const std::uint32_t hops = path_between(*machine.topology, *routing, EntityId(node),
                                                machine.channels[channel].node)
                                       .hops;
        if (hops < fewest) {
          fewest = hops;
          nearest = channel;
        }
      }
      EXPECT_EQ(machine.channel_of[node], nearest) << kind << ' ' << node;
    }
  }
}

TEST(Tile, NamesTheTypesItHas) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      machine_of(mesh + text).tile.rate(DataType::fp8);
    } catch (const ConfigError& error) {
      return error.diagnostics().front().message;
    }
    return "";
  };
  EXPECT_EQ(message("tile: {peak: {fp16: 1 TFLOP/s, fp32: 1 TFLOP/s}}\n"),
            "the machine states no peak for fp8 (tile.peak has fp32, fp16)");
  EXPECT_EQ(message(""), "the machine states no peak for fp8 (tile.peak has nothing)");
}

TEST(ReadMachine, LeavesOtherRoomsTheirKeys) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", mesh + "network: {model: packet}\n", diagnostics),
                          "", diagnostics);
  EXPECT_TRUE(read_machine(section).has_value());
  EXPECT_EQ(section.section("network").get<std::string>("model"), "packet");
  section.finish();
  EXPECT_TRUE(diagnostics.empty());
}

TEST(ReadMachine, ComplainsAboutTheTopology) {
  EXPECT_THAT(
      read("topology: {kind: mess, rows: 3}\n").complaints,
      ElementsAre("m.yaml:1:18: error: topology.kind: unknown name 'mess'; did you mean "
                  "'mesh'? known: cluster, concentrated-mesh, double-ring, dragonfly, fat-tree, "
                  "graph, hypercube, mesh, stack, torus, twisted-torus, wafer"));
  EXPECT_THAT(read("topology: {kind: mesh, rows: 100000, columns: 100000, bandwidth: 1 GB/s, "
                   "latency: 1 ns}\n")
                  .complaints,
              ElementsAre("m.yaml:1:24: error: topology.rows: 100000 x 100000 nodes are too many; "
                          "there must be fewer than 268435456"));
  EXPECT_THAT(read("topology: {kind: graph, nodes: [{name: hub, kind: switch}]}\n").complaints,
              ElementsAre("m.yaml:1:1: error: topology: no node computes; at least one must be a "
                          "tile"));
}

TEST(ReadMachine, ComplainsAboutShapesOfWafers) {
  const std::string rest =
      ", intra_tile: {bandwidth: 1 GB/s, latency: 1 ns}, inter_tile: {bandwidth: 1 GB/s, latency: "
      "1 "
      "ns}}\n";
  EXPECT_THAT(read("topology: {kind: wafer, tiles: [5], cores: [4, 0]" + rest).complaints,
              ElementsAre("m.yaml:1:25: error: topology.tiles: must be two numbers from 1 on, "
                          "[rows, columns]",
                          "m.yaml:1:37: error: topology.cores: must be two numbers from 1 on, "
                          "[rows, columns]"));
  EXPECT_THAT(
      read("topology: {kind: wafer, tiles: [9223372036854775807, 1], cores: [2, 2]" + rest)
          .complaints,
      ElementsAre("m.yaml:1:25: error: topology.tiles: 9223372036854775807 x 1 nodes are too many; "
                  "there must be fewer than 268435456"));
}

// A list that cannot be converted is complained about once.
TEST(ReadMachine, ComplainsOnceAboutAList) {
  const std::string rest =
      ", intra_tile: {bandwidth: 1 GB/s, latency: 1 ns}, inter_tile: {bandwidth: 1 GB/s, latency: "
      "1 "
      "ns}}\n";
  EXPECT_EQ(read("topology: {kind: wafer, tiles: [5, x], cores: 4" + rest).complaints.size(), 2U);
  EXPECT_EQ(read("topology: {kind: wafer, tiles: [], cores: [1, 1]" + rest).complaints.size(), 1U);
  EXPECT_EQ(read(mesh + "dram: {at: edge, edges: west, bandwidth: 1 GB/s, latency: 1 ns}\n")
                .complaints.size(),
            1U);
}

TEST(ReadMachine, ResolvesToTheSameMachine) {
  const std::string text =
      "topology: {kind: wafer, tiles: [1, 2], cores: [2, 2], intra_tile: {bandwidth: 1 GB/s, "
      "latency: 1 ns}, inter_tile: {bandwidth: 1 GB/s, latency: 2 ns}}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\n"
      "dram: {at: edge, edges: [west], bandwidth: 1 GB/s, latency: 1 ns}\n";
  const auto resolved = [](const std::string& yaml) {
    config::Diagnostics diagnostics;
    config::Section section(config::parse("m.yaml", yaml, diagnostics), "", diagnostics);
    EXPECT_TRUE(read_machine(section).has_value());
    section.finish();
    EXPECT_TRUE(diagnostics.empty());
    return section.resolved_yaml();
  };
  const std::string once = resolved(text);
  EXPECT_EQ(resolved(once), once);
  EXPECT_THAT(once, ::testing::HasSubstr("capacity: 0 B"));
}

TEST(ReadMachine, RefusesLinksWithoutTimeOrRate) {
  const testing::Reading zero =
      read("topology: {kind: mesh, rows: 0, columns: 1, bandwidth: 0 B/s, latency: 0 ns}\n");
  ASSERT_EQ(zero.complaints.size(), 3U);
  EXPECT_THAT(zero.complaints[0], ::testing::StartsWith("m.yaml:1:"));
  EXPECT_THAT(zero.complaints[0], ::testing::HasSubstr("topology.rows"));
  EXPECT_THAT(zero.complaints[1], ::testing::HasSubstr("topology.bandwidth"));
  EXPECT_THAT(zero.complaints[2], ::testing::HasSubstr("topology.latency"));
  EXPECT_FALSE(zero.machine.has_value());
}

TEST(ReadMachine, ComplainsAboutTheTile) {
  EXPECT_THAT(
      read(mesh + "tile:\n  peak:\n    fp61: 1 TFLOP/s\n").complaints,
      ElementsAre("m.yaml:4:5: error: tile.peak.fp61: unknown data type 'fp61'; did you mean "
                  "'fp64'? known: fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8"));
  EXPECT_THAT(read(mesh + "tile:\n  sram: 1 MB\n").complaints,
              ElementsAre("m.yaml:2:1: error: tile.peak: must give the peak rate of at least one "
                          "data type, e.g. fp16"));
}

TEST(ReadMachine, ComplainsAboutMemory) {
  const auto about = [](const std::string& placement) {
    return read(mesh + "dram: {" + placement + ", bandwidth: 1 GB/s, latency: 1 ns}\n").complaints;
  };
  EXPECT_THAT(about("at: edges"),
              ElementsAre("m.yaml:2:12: error: dram.at: unknown name 'edges'; did you mean 'edge'? "
                          "known: edge, each, memories, nodes, none"));
  EXPECT_THAT(about("at: edge, edges: [wst]"),
              ElementsAre("m.yaml:2:18: error: dram.edges: unknown edge 'wst'; did you mean "
                          "'west'? known: west, east, north, south"));
  EXPECT_THAT(about("at: edge"),
              ElementsAre("m.yaml:2:1: error: dram.edges: must name at least one "
                          "of west, east, north, south"));
  EXPECT_THAT(about("at: each, edges: [west]"),
              ElementsAre("m.yaml:2:18: error: dram.edges: is only for 'at: edge'"));
  EXPECT_THAT(about("at: each, nodes: [1]"),
              ElementsAre("m.yaml:2:18: error: dram.nodes: is only for 'at: nodes'"));
  EXPECT_THAT(
      about("at: nodes, nodes: [1, 12, 1]"),
      ElementsAre("m.yaml:2:19: error: dram.nodes: there is no node '12'; nodes are numbered "
                  "0 to 11",
                  "m.yaml:2:19: error: dram.nodes: node '1' is listed twice"));
  EXPECT_THAT(about("at: nodes"),
              ElementsAre("m.yaml:2:1: error: dram.nodes: must list at least one node"));
  EXPECT_THAT(
      read(
          "topology: {kind: graph, nodes: [{name: a}]}\ndram: {at: edge, edges: [west], bandwidth: "
          "1 GB/s, latency: 1 ns}\n")
          .complaints,
      ElementsAre("m.yaml:2:8: error: dram.at: 'edge' needs a grid (mesh, torus, wafer)"));
}

// A type of blocks computes as its elements where nothing else is said.
TEST(ReadMachine, BlocksComputeAsTheirElements) {
  const std::string mesh =
      "topology: {kind: mesh, rows: 1, columns: 2, bandwidth: 1 GB/s, latency: 1 ns}\n";
  const Tile plain = machine_of(mesh + "tile: {peak: {fp8: 2 TFLOP/s}}\n").tile;
  EXPECT_EQ(plain.rate(DataType::mxfp8), plain.rate(DataType::fp8));
  const Tile own = machine_of(mesh + "tile: {peak: {fp8: 2 TFLOP/s, mxfp8: 1 TFLOP/s}}\n").tile;
  EXPECT_LT(own.rate(DataType::mxfp8), own.rate(DataType::fp8));
  MacsPerPe macs;
  macs.set(DataType::fp8, 2);
  EXPECT_EQ(macs.of(DataType::mxfp8), 2U);
  macs.set(DataType::mxfp8, 4);
  EXPECT_EQ(macs.of(DataType::mxfp8), 4U);
  EXPECT_EQ(macs.of(DataType::fp8), 2U);
}

}  // namespace
}  // namespace tessera::machine::read_machine_test
