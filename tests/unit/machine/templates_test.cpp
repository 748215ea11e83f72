#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reading.hpp"
#include "tessera/machine/graph/hierarchy.hpp"
#include "tessera/machine/node_finder.hpp"

namespace tessera::machine::templates_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::machine_of;
using testing::read;

const std::string wire = "bandwidth: 1 GB/s, latency: 1 ns";

// Two servers of two tiles, a switch and a memory, and a switch for both.
const std::string two_servers = R"(
topology:
  kind: graph
  link_types: {wide: {bandwidth: 8 GB/s, latency: 2 ns}}
  templates:
    server:
      nodes:
        gpu: {count: 2}
        hub: {kind: switch}
        ram: {kind: memory, of: gpu, capacity: 4 GB}
      links:
        - {from: gpu, to: hub, type: wide}
        - {from: ram, to: hub, type: wide, count: 2}
  nodes: {server: {count: 2, template: server}, core: {kind: switch}}
  links:
    - {from: server.hub, to: core, bandwidth: 1 GB/s, latency: 10 ns, reverse: {bandwidth: 3 GB/s, latency: 20 ns}}
)";

EntityId find(const Topology& topology, const std::string& name) {
  return NodeFinder(topology)(name).value();
}

// Names of the nodes at the other ends, with the links' bandwidths and latencies.
std::vector<std::string> links_of(const Topology& topology, const std::string& name) {
  const EntityId node = find(topology, name);
  std::vector<std::string> all;
  for (unsigned port = 0; port < topology.ports(node); ++port) {
    const Link link = topology.link(node, port);
    all.push_back(topology.node_name(link.to) + ": " +
                  topology.link_classes()[link.link_class].name);
  }
  return all;
}

TEST(Templates, AreThereAsOftenAsTheirGroupsSay) {
  const Machine machine = machine_of(two_servers);
  const Topology& topology = *machine.topology;
  EXPECT_EQ(topology.nodes(), 9U);
  EXPECT_EQ(topology.links(), 20U);
  EXPECT_EQ(topology.node_name(EntityId(5)), "server[1].gpu[1]");
  EXPECT_EQ(find(topology, "server[1].hub"), EntityId(6));
  EXPECT_THAT(topology.computing_node_ids(),
              ElementsAre(EntityId(0), EntityId(1), EntityId(4), EntityId(5)));
  EXPECT_EQ(topology.role(EntityId(2)), NodeRole::switching);
  EXPECT_EQ(topology.role(EntityId(7)), NodeRole::memory);
  EXPECT_EQ(topology.domain(EntityId(5)), topology.domain(EntityId(4)));
  EXPECT_NE(topology.domain(EntityId(5)), topology.domain(EntityId(1)));
  EXPECT_EQ(topology.default_routing(), "hierarchy");
}

TEST(Templates, LinksMayBeManyAndDifferByDirection) {
  const Machine machine = machine_of(two_servers);
  EXPECT_THAT(links_of(*machine.topology, "server[1].hub"),
              ElementsAre("server[1].gpu[0]: 8 GB/s, 2 ns", "server[1].gpu[1]: 8 GB/s, 2 ns",
                          "server[1].ram: 8 GB/s, 2 ns", "server[1].ram: 8 GB/s, 2 ns",
                          "core: 1 GB/s, 10 ns"));
  EXPECT_THAT(links_of(*machine.topology, "core"),
              ElementsAre("server[0].hub: 3 GB/s, 20 ns", "server[1].hub: 3 GB/s, 20 ns"));
}

TEST(Templates, EndsCanBeRangesAndBeJoinedEvenly) {
  const Machine machine = machine_of(
      "topology: {kind: graph, nodes: {a: {count: 6}, b: {count: 2, kind: switch}, c: {}}, links: "
      "[{from: a, to: b, join: even, " +
      wire + "}, {from: 'b[0-1]', to: c, " + wire + "}, {from: 'a[2-3]', to: c, " + wire +
      "}, {from: c, to: b, join: even, " + wire + "}]}");
  const std::string is = ": 1 GB/s, 1 ns";
  EXPECT_THAT(links_of(*machine.topology, "b[0]"),
              ElementsAre("a[0]" + is, "a[1]" + is, "a[2]" + is, "c" + is, "c" + is));
  EXPECT_THAT(links_of(*machine.topology, "a[3]"), ElementsAre("b[1]" + is, "c" + is));
  EXPECT_THAT(links_of(*machine.topology, "a[4]"), ElementsAre("b[1]" + is));
}

TEST(Templates, MemoriesKnowWhoseTheyAre) {
  const Machine machine = machine_of(two_servers +
                                     "dram: {at: memories, bandwidth: 1 GB/s, "
                                     "latency: 5 ns}\n");
  const std::vector<MemoryNode>& memories = machine.topology->memory_nodes();
  ASSERT_EQ(memories.size(), 2U);
  EXPECT_EQ(memories[1].node, EntityId(7));
  EXPECT_EQ(memories[1].capacity, Bytes(4'000'000'000));
  EXPECT_THAT(memories[1].owners, ElementsAre(EntityId(4), EntityId(5)));
  ASSERT_EQ(machine.channels.size(), 2U);
  EXPECT_EQ(machine.channels[1].capacity, Bytes(4'000'000'000));
  EXPECT_EQ(machine.channel_of[5], 1U);
  EXPECT_EQ(machine.channel_of[0], 0U);
}

TEST(Templates, MemoryServesItsOwnerEvenFromAfar) {
  const Machine machine = machine_of(
      "topology: {kind: graph, nodes: {t: {count: 2}, far: {kind: memory, of: 't[1]'}, near: "
      "{kind: memory, capacity: unlimited}}, links: [{from: 't[0]', to: near, " +
      wire + "}, {from: 't[1]', to: near, " + wire + "}, {from: near, to: far, " + wire +
      "}]}\ndram: {at: memories, bandwidth: 1 GB/s, latency: 5 ns}\n");
  EXPECT_EQ(machine.channel_of[0], 1U);
  EXPECT_EQ(machine.channel_of[1], 0U);
  EXPECT_EQ(machine.topology->memory_nodes()[1].capacity, Bytes(0));
}

const std::string types = R"(
types:
  fast: {peak: {fp16: 100 TFLOP/s, fp32: 20 TFLOP/s}, operands: dram}
  slow: {peak: {fp16: 10 TFLOP/s, fp32: 5 TFLOP/s}, operands: dram, dram: {bandwidth: 1 TB/s, latency: 9 ns, capacity: 2 GB}}
dram: {at: each, bandwidth: 3 TB/s, latency: 4 ns, capacity: 8 GB}
)";

// `count` groups of two tiles, with types as given.
std::string groups_of(int count, const std::string& type) {
  return "topology: {kind: graph, templates: {pair: {nodes: {gpu: {count: 2}}, links: [{from: gpu, "
         "to: gpu, " +
         wire + "}]}}, nodes: {pair: {count: " + std::to_string(count) +
         ", template: pair, type: " + type +
         "}, hub: {kind: switch}}, links: [{from: pair.gpu, "
         "to: hub, " +
         wire + "}]}\n";
}

std::string types_of(const Machine& machine) {
  std::string names;
  for (const EntityId node : machine.topology->computing_node_ids()) {
    names += machine.tile_of(node).name.substr(0, 1);
  }
  return names;
}

TEST(TileTypes, AreRepeatedOverAGroup) {
  EXPECT_EQ(types_of(machine_of(groups_of(5, "[fast, slow]") + types)), "ffssffssff");
  EXPECT_EQ(types_of(machine_of(groups_of(5, "[fast x 2, slow]") + types)), "ffffssffff");
  EXPECT_EQ(types_of(machine_of(groups_of(2, "slow") + types)), "ssss");
}

TEST(TileTypes, GiveTheirTilesRatesAndMemory) {
  const Machine machine = machine_of(groups_of(2, "[fast, slow]") + types);
  ASSERT_EQ(machine.tiles().size(), 2U);
  EXPECT_EQ(machine.tile_of(EntityId(1)).rate(DataType::fp32),
            FlopRate::flops_per_second(20'000'000'000'000));
  EXPECT_EQ(machine.tile_of(EntityId(2)).rate(DataType::fp16),
            FlopRate::flops_per_second(10'000'000'000'000));
  EXPECT_EQ(machine.operand_bandwidth(machine.tile_of(EntityId(0))),
            Bandwidth::bytes_per_second(3'000'000'000'000));
  EXPECT_EQ(machine.operand_bandwidth(machine.tile_of(EntityId(3))),
            Bandwidth::bytes_per_second(1'000'000'000'000));
  EXPECT_EQ(machine.channels[3].node, EntityId(3));
  EXPECT_EQ(machine.channels[3].latency, SimTime::from_ps(9000));
  EXPECT_EQ(machine.channels[3].capacity, Bytes(2'000'000'000));
  EXPECT_EQ(machine.channels[0].capacity, Bytes(8'000'000'000));
}

TEST(TileTypes, WithoutChannelsOfTheirOwnHaveThoseOfTheMachine) {
  const Machine machine = machine_of(groups_of(2, "[slow, fast]") + types);
  EXPECT_EQ(machine.operand_bandwidth(machine.tile_of(EntityId(0))),
            Bandwidth::bytes_per_second(1'000'000'000'000));
  EXPECT_EQ(machine.operand_bandwidth(machine.tile_of(EntityId(3))),
            Bandwidth::bytes_per_second(3'000'000'000'000));
  EXPECT_EQ(machine.channels[3].bandwidth, Bandwidth::bytes_per_second(3'000'000'000'000));
  EXPECT_EQ(machine.channels[3].latency, SimTime::from_ps(4000));
}

TEST(TileTypes, OfOneKindTakeThePlaceOfTheTile) {
  const Machine machine = machine_of(groups_of(2, "slow") + types);
  EXPECT_TRUE(machine.types.empty());
  EXPECT_TRUE(machine.type_of.empty());
  EXPECT_EQ(machine.tile.name, "slow");
  EXPECT_EQ(machine.channels[0].latency, SimTime::from_ps(9000));
}

const std::string grid =
    "topology: {kind: mesh, rows: 2, columns: 3, bandwidth: 1 GB/s, latency: 1 ns}\n"
    "tile: {peak: {fp16: 1 TFLOP/s}, efficiency: 0.5, sram: 3 MB}\n";

TEST(TileTypes, MayListTheirNodes) {
  const Machine machine = machine_of(
      grid + "types: {fast: {nodes: [4, 1], peak: {fp16: 4 TFLOP/s}}, other: {nodes: [5]}}");
  ASSERT_EQ(machine.tiles().size(), 3U);
  EXPECT_EQ(machine.tile_of(EntityId(0)).name, "");
  EXPECT_EQ(machine.tile_of(EntityId(1)).name, "fast");
  EXPECT_EQ(machine.tile_of(EntityId(4)).rate(DataType::fp16),
            FlopRate::flops_per_second(4'000'000'000'000));
  EXPECT_EQ(machine.tile_of(EntityId(4)).sram, Bytes(0));
  // Without a peak of its own it is as `tile`.
  EXPECT_EQ(machine.tile_of(EntityId(5)).name, "other");
  EXPECT_EQ(machine.tile_of(EntityId(5)).rate(DataType::fp16),
            FlopRate::flops_per_second(500'000'000'000));
  EXPECT_EQ(machine.tile_of(EntityId(5)).sram, Bytes(3'000'000));
}

// Channels that no tile of the type has were read without a word.
TEST(TileTypes, SayWhereTheirChannelsAreNowhere) {
  const auto notes_of = [](const std::string& dram) {
    const std::string text =
        grid +
        "types: {a: {nodes: [1], dram: {bandwidth: 9 GB/s, latency: 1 ns}}, b: "
        "{dram: {bandwidth: 9 GB/s, latency: 1 ns}}}\n" +
        dram;
    config::Diagnostics diagnostics;
    config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
    EXPECT_TRUE(read_machine(section).has_value());
    section.finish();
    EXPECT_TRUE(diagnostics.empty());
    return diagnostics.notes();
  };
  const std::string rates = ", bandwidth: 1 GB/s, latency: 1 ns}\n";
  const std::string unused = "types.b has no effect with no tile of this type";
  const std::string nowhere =
      "types.a.dram has no effect with no channel at a tile of this type (machine.dram.at: each "
      "has one at every tile)";
  EXPECT_THAT(notes_of("dram: {at: each" + rates), ElementsAre(unused));
  EXPECT_THAT(notes_of("dram: {at: nodes, nodes: [1, 2]" + rates), ElementsAre(unused));
  EXPECT_THAT(notes_of("dram: {at: nodes, nodes: [2]" + rates), ElementsAre(unused, nowhere));
  EXPECT_THAT(notes_of("dram: {at: edge, edges: [west]" + rates), ElementsAre(unused, nowhere));
  EXPECT_THAT(notes_of(""), ElementsAre(unused, nowhere));
}

TEST(TileTypes, ListedNodesGoBeforeThoseOfTheTopology) {
  const std::string listed = "  slow: {nodes: ['pair[0].gpu[1]'], peak";
  std::string text = groups_of(2, "fast") + types;
  text.replace(text.find("  slow: {peak"), std::string("  slow: {peak").size(), listed);
  EXPECT_EQ(types_of(machine_of(text)), "fsff");
}

TEST(TileTypes, OfListedNodesMustBeClear) {
  const auto complaints = [](const std::string& of_a) {
    return read(grid + "types: {a: {" + of_a + "}, b: {nodes: [5]}}").complaints;
  };
  EXPECT_THAT(complaints("nodes: [6]"),
              ElementsAre(HasSubstr("types.a.nodes: there is no node '6'")));
  EXPECT_THAT(complaints("nodes: [2, 2]"),
              ElementsAre(HasSubstr("types.a.nodes: node '2' is listed twice")));
  EXPECT_THAT(complaints("nodes: []"),
              ElementsAre(HasSubstr("types.a.nodes: must list at least one node")));
  EXPECT_THAT(complaints("nodes: [5]"),
              ElementsAre(HasSubstr("types.b.nodes: 'tile (1,2)' is listed for 'a' as well")));
  std::string hub = groups_of(2, "fast") + types;
  hub.replace(hub.find("  slow: {peak"), std::string("  slow: {peak").size(),
              "  slow: {nodes: [hub], peak");
  EXPECT_THAT(read(hub).complaints,
              ElementsAre(HasSubstr("types.slow.nodes: 'hub' does not compute")));
}

TEST(TileTypes, MustBeKnownAndTellEverything) {
  EXPECT_THAT(read(groups_of(2, "[fast, slw]") + types).complaints,
              ElementsAre(HasSubstr("topology.nodes: unknown type of tiles 'slw'; did you mean "
                                    "'slow'?")));
  EXPECT_THAT(read("topology: {kind: graph, nodes: {a: {type: fast}, b: {}}, links: [{from: a, to: "
                   "b, " +
                   wire + "}]}" + types)
                  .complaints,
              ElementsAre(HasSubstr("types: 'b' has none of them, and there is no 'tile'")));
  const std::string without_dram = types.substr(0, types.find("dram: {at"));
  EXPECT_THAT(read(groups_of(2, "slow") + without_dram).complaints,
              ElementsAre(HasSubstr("types.slow.operands: 'dram' needs a channel at every tile")));
  Machine machine = machine_of(groups_of(2, "slow") + types);
  EXPECT_THROW(machine.tile.rate(DataType::int8), ConfigError);
}

std::string complaint(const std::string& topology) {
  const auto all = read("topology:\n  kind: graph\n" + topology).complaints;
  return all.empty() ? "" : all.front();
}

TEST(Templates, ComplainAtTheirPlace) {
  EXPECT_EQ(complaint("  templates:\n    a: {nodes: {x: {template: b}}}\n    b: {nodes: {y: "
                      "{template: a}}}\n  nodes: {z: {}}\n"),
            "m.yaml:5:21: error: topology.templates.b.nodes.y.template: template 'a' would contain "
            "itself");
  EXPECT_EQ(complaint("  nodes: {z: {template: q}}\n  templates: {p: {nodes: {x: {}}}}\n"),
            "m.yaml:3:15: error: topology.nodes.z.template: unknown template 'q'; known: p");
  const std::string pair =
      "  templates: {p: {nodes: {x: {count: 2}}}}\n  nodes: {q: {count: 2, "
      "template: p}, s: {kind: switch}}\n  links:\n    - ";
  EXPECT_EQ(complaint(pair + "{from: q, to: s, " + wire + "}\n"),
            "m.yaml:6:8: error: topology.links[0].from: 'q' is an instance of a template; name a "
            "node in it, e.g. 'q.x'");
  EXPECT_EQ(complaint(pair + "{from: s.x, to: q.x, " + wire + "}\n"),
            "m.yaml:6:8: error: topology.links[0].from: 's' is no instance of a template; nothing "
            "is in it");
  EXPECT_EQ(complaint(pair + "{from: 'q.x[0-2]', to: s, " + wire + "}\n"),
            "m.yaml:6:8: error: topology.links[0].from: 'x[0-2]' does not exist; the last one is "
            "'x[1]'");
  EXPECT_EQ(complaint(pair + "{from: 'q.x[1-0]', to: s, " + wire + "}\n"),
            "m.yaml:6:8: error: topology.links[0].from: 'x[1-0]' is not a node; write e.g. 'x[0]'");
  EXPECT_EQ(complaint(pair + "{from: q.x, to: s, type: fast}\n"),
            "m.yaml:6:26: error: topology.links[0].type: unknown link type 'fast'; known: ");
  EXPECT_EQ(
      complaint("  nodes: {a: {count: 3}, b: {count: 2}}\n  links:\n    - {from: a, to: b, "
                "join: even, " +
                wire + "}\n"),
      "m.yaml:5:24: error: topology.links[0].join: 'even' needs one end to have a multiple of "
      "the nodes of the other; they have 3 and 2");
  EXPECT_EQ(complaint("  nodes: {a: {count: 3}, m: {count: 2, kind: memory, of: a}}\n"),
            "m.yaml:3:54: error: topology.nodes.m.of: 2 memories cannot be shared evenly by 3 "
            "tiles");
  EXPECT_EQ(
      complaint("  templates: {p: {nodes: {x: {count: 5000}}}}\n  nodes: {q: {count: 5000, "
                "template: p}}\n"),
      "m.yaml:4:15: error: topology.nodes.q.count: too many nodes; a graph may have 16777216");
}

}  // namespace
}  // namespace tessera::machine::templates_test
