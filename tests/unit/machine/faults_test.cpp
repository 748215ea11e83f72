// Links that are slower or dead, and slower nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/machine/machine.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::faults_test {
namespace {

using ::testing::HasSubstr;

struct Reading {
  std::optional<Machine> machine;
  std::string problems;
};

Reading read(const std::string& faults) {
  const std::string text =
      "topology: {kind: mesh, rows: 3, columns: 3, bandwidth: 100 GB/s, "
      "latency: 10 ns}\nfaults: " +
      faults + "\n";
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  Reading reading;
  reading.machine = read_machine(section);
  section.finish();
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    reading.problems += diagnostic.to_string() + "\n";
  }
  return reading;
}

Bandwidth rate(const Machine& machine, std::uint32_t from, std::uint32_t to) {
  const Topology& topology = *machine.topology;
  const auto routing = make_routing(topology.default_routing(), topology);
  return path_between(topology, *routing, EntityId(from), EntityId(to)).bottleneck;
}

TEST(Faults, SlowLinksAreSlowInBothDirectionsOrOne) {
  const Reading both = read("{links: [{from: 0, to: 1, bandwidth: 25 %}]}");
  ASSERT_EQ(both.problems, "");
  EXPECT_EQ(rate(*both.machine, 0, 1), Bandwidth::bytes_per_second(25'000'000'000));
  EXPECT_EQ(rate(*both.machine, 1, 0), Bandwidth::bytes_per_second(25'000'000'000));
  EXPECT_EQ(rate(*both.machine, 1, 2), Bandwidth::bytes_per_second(100'000'000'000));
  EXPECT_EQ(both.machine->topology->default_routing(), "xy");
  const Reading one = read("{links: [{from: 0, to: 1, bandwidth: 25 %, directions: one}]}");
  EXPECT_EQ(rate(*one.machine, 0, 1), Bandwidth::bytes_per_second(25'000'000'000));
  EXPECT_EQ(rate(*one.machine, 1, 0), Bandwidth::bytes_per_second(100'000'000'000));
}

TEST(Faults, RoutesGoAroundDeadLinks) {
  const Reading reading = read("{links: [{from: 0, to: 1, dead: true}]}");
  ASSERT_EQ(reading.problems, "");
  const Topology& topology = *reading.machine->topology;
  EXPECT_EQ(topology.links(), 22U);
  EXPECT_THAT(routing_problem("xy", topology), HasSubstr("would cross dead links"));
  const auto routing = make_routing(topology.default_routing(), topology);
  EXPECT_EQ(path_between(topology, *routing, EntityId(0), EntityId(1)).hops, 3U);
  EXPECT_EQ(path_between(topology, *routing, EntityId(4), EntityId(8)).hops, 2U);
}

TEST(Faults, SlowNodesTakeLonger) {
  const Reading reading = read("{nodes: [{node: 4, speed: 80 %}]}");
  ASSERT_EQ(reading.problems, "");
  const SimTime time = SimTime::from_ps(1'000);
  EXPECT_EQ(reading.machine->time_at(EntityId(4), time), SimTime::from_ps(1'250));
  EXPECT_EQ(reading.machine->time_at(EntityId(5), time), time);
}

TEST(Faults, SlowNodesAreDrawnByTheirSeed) {
  const Reading none = read("{random: {share: 0 %, speed: 50 %}}");
  ASSERT_EQ(none.problems, "");
  EXPECT_TRUE(none.machine->speeds.empty());
  EXPECT_EQ(read("{random: {share: 100 %, speed: 50 %}}").machine->speeds.size(), 9U);
  const Reading some = read("{random: {share: 40 %, speed: 50 %, seed: 7}}");
  EXPECT_EQ(some.machine->speeds,
            read("{random: {share: 40 %, speed: 50 %, seed: 7}}").machine->speeds);
  EXPECT_NE(some.machine->speeds,
            read("{random: {share: 40 %, speed: 50 %, seed: 8}}").machine->speeds);
  // Those that are named count.
  const Reading named =
      read("{random: {share: 100 %, speed: 50 %}, nodes: [{node: 4, speed: 80 %}]}");
  EXPECT_EQ(named.machine->speeds.at(EntityId(4)), Fraction::millionths(800'000));
  EXPECT_THAT(read("{random: {speed: 50 %}}").problems, HasSubstr("share"));
}

// On large machines they are drawn when they are asked for.
TEST(Faults, SlowNodesNeedNoListOfThem) {
  const auto speeds_of = [](const std::string& side, const std::string& more) {
    config::Diagnostics diagnostics;
    config::Section section(
        config::parse("m.yaml",
                      "topology: {kind: mesh, rows: 16, columns: " + side +
                          ", bandwidth: 1 GB/s, latency: 1 ns}\n"
                          "faults: {random: {share: 20 %, speed: 50 %, seed: 3}" +
                          more + "}\n",
                      diagnostics),
        "", diagnostics);
    return read_machine(section)->speeds;
  };
  const NodeSpeeds listed = speeds_of("64", "");
  const NodeSpeeds drawn = speeds_of("16000000", ", nodes: [{node: 4, speed: 80 %}]");
  EXPECT_GT(listed.size(), 100U);
  EXPECT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn.at(EntityId(4)), Fraction::millionths(800'000));
  for (std::uint32_t node = 5; node < 1024; ++node) {
    ASSERT_EQ(drawn.contains(EntityId(node)), listed.contains(EntityId(node))) << node;
  }
}

TEST(Faults, AreRefusedWithTheirPlace) {
  EXPECT_THAT(read("{links: [{from: 0, to: 4, dead: true}]}").problems, HasSubstr("no link joins"));
  EXPECT_THAT(read("{links: [{from: 0, to: 9, dead: true}]}").problems,
              HasSubstr("m.yaml:2:28: error: faults.links[0].to"));
  EXPECT_THAT(read("{links: [{from: 0, to: 1}]}").problems,
              HasSubstr("either 'dead: true' or has a share"));
  EXPECT_THAT(
      read("{links: [{from: 0, to: 1, dead: true}, {from: 0, to: 3, dead: true}]}").problems,
      HasSubstr("is cut off from the rest"));
  EXPECT_THAT(read("{nodes: [{node: 4, speed: 0 %}]}").problems, HasSubstr("speed"));
  EXPECT_THAT(read("{node: []}").problems, HasSubstr("node"));
}

// The last one used to count, without a word.
TEST(Faults, AreListedOnce) {
  const std::string half = ", bandwidth: 50 %";
  const std::string twice = "the link from tile (0,1) to tile (0,0) is listed twice";
  EXPECT_THAT(
      read("{links: [{from: 0, to: 1" + half + "}, {from: 1, to: 0, dead: true}]}").problems,
      HasSubstr("error: faults.links[1].to: " + twice));
  EXPECT_THAT(
      read("{links: [{from: 0, to: 1" + half + "}, {from: 1, to: 0" + half + ", directions: one}]}")
          .problems,
      HasSubstr(twice));
  EXPECT_EQ(read("{links: [{from: 0, to: 1" + half + ", directions: one}, {from: 1, to: 0" + half +
                 ", directions: one}, {from: 1, to: 2, dead: true}]}")
                .problems,
            "");
  EXPECT_THAT(read("{nodes: [{node: 4, speed: 50 %}, {node: '4', speed: 80 %}]}").problems,
              HasSubstr("error: faults.nodes[1].node: tile (1,1) is listed twice"));
}

}  // namespace
}  // namespace tessera::machine::faults_test
