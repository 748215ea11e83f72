#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness.hpp"

namespace tessera::network::read_network_test {
namespace {

using testing::described;
using testing::Described;
using ::testing::HasSubstr;
using testing::mesh;
using testing::network_of;

std::string complaint_of(const std::string& topology, const std::string& network) {
  try {
    network_of(topology, network);
  } catch (const ConfigError& error) {
    return error.diagnostics().front().to_string();
  }
  return "";
}

TEST(ReadNetwork, KnowsItsModels) {
  EXPECT_THAT(networks().names(),
              ::testing::ElementsAre("analytical", "crossbar", "flit", "flow", "packet"));
}

TEST(ReadNetwork, PointsAtAMisspeltModel) {
  EXPECT_THAT(complaint_of(mesh(2, 2), "model: pakcet"), HasSubstr("did you mean 'packet'"));
}

TEST(ReadNetwork, PointsAtAnUnknownKey) {
  EXPECT_THAT(complaint_of(mesh(2, 2), "paket_size: 1 B"), HasSubstr("packet_size"));
}

TEST(ReadNetwork, LeavesKeysOfOtherModels) {
  EXPECT_EQ(complaint_of(mesh(2, 2), "model: analytical, packet_size: 1 kB"), "");
  EXPECT_THAT(complaint_of(mesh(2, 2), "model: analytical, paket_size: 1 kB"),
              HasSubstr("unknown key"));
}

TEST(ReadNetwork, RefusesDimensionOrderOffAGrid) {
  const std::string pair =
      "{kind: graph, nodes: [{name: a, count: 2}], links: [{from: a, to: a, bandwidth: 1 GB/s, "
      "latency: 1 ns}]}";
  EXPECT_EQ(complaint_of(pair, ""), "");
  EXPECT_THAT(complaint_of(pair, "routing: yx"), HasSubstr("needs a mesh, torus or wafer"));
}

// Which nobody may have asked for.
TEST(ReadNetwork, TellsOfAnotherRoutingBecauseOfDeadLinks) {
  for (const char* model : {"analytical", "flit", "flow", "packet"}) {
    const auto notes_of = [model](const std::string& faults) {
      config::Diagnostics diagnostics;
      config::Section section(
          config::parse("m.yaml",
                        "topology: " + mesh(3, 3) + "\nnetwork: {model: " + model +
                            ", virtual_channels: 4}\nfaults: {links: [" + faults + "]}\n",
                        diagnostics),
          "", diagnostics);
      const auto machine = machine::read_machine(section);
      read_network(section.section("network"), *machine);
      return ::testing::PrintToString(diagnostics.notes());
    };
    EXPECT_THAT(notes_of("{from: 0, to: 1, dead: true}"),
                HasSubstr("routes follow 'shortest' instead of 'xy'"))
        << model;
    EXPECT_THAT(notes_of("{from: 0, to: 1, bandwidth: 50 %}"),
                ::testing::Not(HasSubstr("routes follow")));
  }
}

// Of the library's keys, where it is none or its switches cannot add up.
TEST(ReadNetwork, TellsWhatOfTheLibraryIsWithoutEffect) {
  const auto notes_of = [](const std::string& keys) {
    config::Diagnostics diagnostics;
    config::Section section(
        config::parse("m.yaml",
                      "topology: " + mesh(2, 2) + "\nnetwork: {model: analytical" + keys + "}\n",
                      diagnostics),
        "", diagnostics);
    const auto machine = machine::read_machine(section);
    read_network(section.section("network"), *machine);
    return ::testing::PrintToString(diagnostics.notes());
  };
  for (const std::string keys : {"", ", library: nccl", ", nvswitch_generation: 2",
                                 ", library: nccl, nvswitch_generation: 3",
                                 ", library: nccl, nvswitch_generation: 2, nvls: true",
                                 ", library: nccl, nvswitch_generation: 3, nvls: false"}) {
    EXPECT_EQ(notes_of(keys), "{}") << keys;
  }
  EXPECT_THAT(notes_of(", nvls: false"), HasSubstr("nvls has no effect with library: none"));
  EXPECT_THAT(notes_of(", nvswitch_generation: 3"),
              HasSubstr("nvswitch_generation has no effect with library: none"));
  EXPECT_THAT(notes_of(", library: nccl, nvls: false"),
              HasSubstr("nvls has no effect with nvswitch_generation below 3"));
}

TEST(ReadNetwork, RefusesPacketsOfNoBytesAndMessagesOfNoPackets) {
  EXPECT_THAT(complaint_of(mesh(2, 2), "packet_size: 0 B"), HasSubstr("m.yaml:2:"));
  EXPECT_THAT(complaint_of(mesh(2, 2), "max_packets: 0"), HasSubstr("m.yaml:2:"));
}

// A byte on the wire must fit the packet's tail lag of 32 bits of picoseconds.
TEST(ReadNetwork, RefusesLinksTooSlowForAByte) {
  EXPECT_THAT(complaint_of(mesh(2, 2, "232 B/s"), ""), HasSubstr("233 B/s"));
  EXPECT_EQ(complaint_of(mesh(2, 2, "233 B/s"), ""), "");
  EXPECT_EQ(complaint_of(mesh(2, 2, "1 B/s"), "model: analytical"), "");
}

TEST(ReadNetwork, PredictsTheBytesOfItsState) {
  for (const std::string& topology :
       {mesh(20, 30), std::string("{kind: wafer, tiles: [3, 3], cores: [4, 4], intra_tile: "
                                  "{bandwidth: 40 GB/s, latency: 1 ns}, inter_tile: {bandwidth: 7 "
                                  "GB/s, latency: 5 ns}}")}) {
    const Described network = network_of(topology);
    std::vector<EntityId> members;
    for (std::uint32_t node = 0; node < network.machine.topology->nodes(); ++node) {
      members.emplace_back(node);
    }
    const auto built = network.network->build({network.machine, members, 0});
    EXPECT_EQ(built->resident_bytes(),
              network.network->predicted_bytes(network.machine, members.size(), false));
    // Bins come with the first use of a link; the prediction is for links that are all used.
    const std::size_t idle = built->resident_bytes();
    built->report_bins([](const LinkUse&) {});
    EXPECT_LT(built->resident_bytes(), idle + idle / 100 + 100);
    constexpr std::size_t bin_bytes = 24;
    EXPECT_EQ(network.network->predicted_bytes(network.machine, members.size(), true),
              idle + 4 * members.size() * bin_bytes);
  }
}

}  // namespace
}  // namespace tessera::network::read_network_test
