// Traffic of a cluster of servers, and the overhead of a message.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness.hpp"

namespace tessera::network::cluster_test {
namespace {

using testing::carry;
using testing::described;
using testing::Described;
using testing::mesh;
using testing::network_of;
using testing::Send;
using testing::Traffic;

// Four accelerators and two NICs a server; a NIC's port carries a byte in 40 ps.
std::string cluster(int servers, const std::string& fabric) {
  return "{kind: cluster, nodes: " + std::to_string(servers) +
         ", accelerators: 4, nics: 2, switch: {bandwidth: 200 GB/s, latency: 500 ns}, nic: "
         "{bandwidth: 50 GB/s, latency: 300 ns}, port: {bandwidth: 25 GB/s, latency: 700 ns}, "
         "fabric: " +
         fabric + "}";
}

const std::string tree =
    "{kind: fat-tree, leaf_nodes: 2, spines: 2, bandwidth: 100 GB/s, latency: 200 ns}";

std::int64_t time_of(const Described& network, std::uint32_t from, std::uint32_t to,
                     std::uint64_t bytes) {
  const Traffic traffic = carry(network, {Send{0, from, to, bytes, 0}});
  return traffic.arrivals.size() == 1 ? traffic.arrivals[0].at_ps : -1;
}

TEST(ClusterNetwork, OneMessageTakesTheFormulaInEveryModel) {
  for (const char* model : {"analytical", "packet"}) {
    const Described network =
        network_of(cluster(4, tree), std::string("message_overhead: 4 us, model: ") + model);
    constexpr std::uint64_t bytes = 1'000'000;
    // Inside a server: 5 ps a byte; else the port's 40 ps.
    EXPECT_EQ(time_of(network, 0, 3, bytes), 4'000'000 + 2 * 500'000 + 5'000'000) << model;
    EXPECT_EQ(time_of(network, 0, 7, bytes), 4'000'000 + 2'000'000 + 40'000'000) << model;
    EXPECT_EQ(time_of(network, 0, 15, bytes), 4'000'000 + 2'400'000 + 40'000'000) << model;
    EXPECT_EQ(time_of(network, 5, 5, bytes), 0) << model;
  }
}

// Two accelerators have one NIC, and four ports of 25 GB/s a leaf with 100 GB/s to its spines.
TEST(ClusterNetwork, AnalyticalSaysWhatServersDoNotShare) {
  const auto notes = [](const std::string& fabric, const std::string& model, int servers = 4) {
    const Described network = network_of(cluster(servers, fabric), "model: " + model);
    return network.network->notes(network.machine);
  };
  const std::string slow =
      "{kind: fat-tree, leaf_nodes: 2, spines: 1, bandwidth: 40 GB/s, latency: 200 ns}";
  ASSERT_EQ(notes(tree, "analytical").size(), 1U);
  EXPECT_NE(notes(tree, "analytical")[0].find("shared NICs: 2 accelerators share one"),
            std::string::npos);
  ASSERT_EQ(notes(slow, "analytical").size(), 2U);
  EXPECT_NE(notes(slow, "analytical")[1].find("2.5 times the bandwidth"), std::string::npos);
  EXPECT_TRUE(notes("{kind: switch}", "analytical", 1).empty());
  EXPECT_TRUE(notes(slow, "packet").empty());
}

TEST(ClusterNetwork, AcceleratorsOfOneNicShareItsPort) {
  const Described network = network_of(cluster(4, "{kind: switch}"), "max_packets: 1");
  constexpr std::uint64_t bytes = 1'000'000;
  // Accelerators 0 and 1 have NIC 0, accelerator 2 has NIC 1; the targets' NICs differ.
  const Traffic shared = carry(network, {{0, 0, 4, bytes, 0}, {0, 1, 8, bytes, 0}});
  const Traffic apart = carry(network, {{0, 0, 4, bytes, 0}, {0, 2, 8, bytes, 0}});
  EXPECT_EQ(shared.end_ps, 2'000'000 + 80'000'000);
  EXPECT_EQ(apart.end_ps, 2'000'000 + 40'000'000);
}

// Four NICs of a leaf send to four of another one: over one spine they share its link, over four
// each has one.
TEST(ClusterNetwork, FlowsShareTheFabricsLinks) {
  const auto fabric = [](int spines) {
    return "{kind: fat-tree, leaf_nodes: 2, spines: " + std::to_string(spines) +
           ", bandwidth: 25 GB/s, latency: 200 ns}";
  };
  constexpr std::uint64_t bytes = 1'000'000;
  std::vector<Send> sends;
  for (std::uint32_t nic = 0; nic < 4; ++nic) {  // one accelerator of each NIC of servers 0 and 1
    sends.push_back({0, 2 * nic, 8 + 2 * nic, bytes, 0});
  }
  const Traffic one = carry(network_of(cluster(4, fabric(1)), "max_packets: 1"), sends);
  EXPECT_EQ(one.end_ps, 2'400'000 + 4 * 40'000'000);
  const Traffic four = carry(network_of(cluster(4, fabric(4)), "max_packets: 1"), sends);
  EXPECT_EQ(four.end_ps, 2'400'000 + 40'000'000);
}

TEST(ClusterNetwork, CountsTheEventsOfALargeOneByItsRoutes) {
  const Described network = network_of(cluster(2000, tree));
  ASSERT_GT(network.machine.topology->nodes(), 4096U);
  const auto traffic = network.network->predict_traffic(network.machine);
  std::uint64_t events = 0;
  traffic->visit_events(EntityId(0), EntityId(7999), Bytes(4096),
                        [&](EntityId, std::uint64_t count) { events += count; });
  EXPECT_EQ(events, 1U + 5 + 1 + 1);  // request, five nodes on the way, the last packet, arrival
}

TEST(MessageOverhead, DelaysEachMessageButHoldsNoLink) {
  for (const char* model : {"analytical", "packet"}) {
    const Described plain = network_of(mesh(1, 3), std::string("model: ") + model);
    const Described late =
        network_of(mesh(1, 3), std::string("message_overhead: 7 us, model: ") + model);
    const std::vector<Send> sends(5, Send{0, 0, 2, 10'000, 0});
    const Traffic before = carry(plain, sends);
    const Traffic after = carry(late, sends);
    ASSERT_EQ(after.arrivals.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(after.arrivals[i].at_ps, before.arrivals[i].at_ps + 7'000'000) << model;
    }
  }
}

TEST(ReadClusterNetwork, KnowsWhereRoutingsFit) {
  const auto complaint = [](const std::string& topology, const std::string& keys) -> std::string {
    try {
      network_of(topology, keys);
    } catch (const ConfigError& error) {
      return error.diagnostics().front().message;
    }
    return "";
  };
  EXPECT_EQ(complaint(cluster(2, tree), "routing: cluster"), "");
  EXPECT_EQ(complaint(cluster(2, tree), "routing: shortest"), "");
  EXPECT_EQ(complaint(cluster(2, tree), "routing: xy"),
            "network.routing: 'xy' needs a mesh, torus or wafer; use 'cluster'");
  EXPECT_EQ(complaint(mesh(2, 2), "routing: cluster"),
            "network.routing: 'cluster' needs a cluster; use 'xy'");
  EXPECT_NE(complaint(mesh(2, 2), "message_overhead: -1 ns"), "");
}

}  // namespace
}  // namespace tessera::network::cluster_test
