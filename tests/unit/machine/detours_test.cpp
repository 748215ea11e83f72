// Which routing machines have by themselves where links are dead or slower.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "reading.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::detours_test {
namespace {

using testing::cluster_text;
using testing::machine_of;

std::unique_ptr<Topology> with_fault(const std::string& topology, const std::string& from,
                                     const std::string& to, const std::string& what) {
  return machine_of("topology: " + topology + "\nfaults: {links: [{from: '" + from + "', to: '" +
                    to + "', " + what + "}]}\n")
      .topology;
}

std::string spines(int count) {
  return "{kind: fat-tree, leaf_nodes: 1, rail_optimized: false, spines: " + std::to_string(count) +
         ", bandwidth: 100 GB/s, latency: 4 ns}";
}

void expect_routing(const Topology& topology, const std::string& routing,
                    const std::string& without_faults) {
  EXPECT_EQ(topology.default_routing(), routing);
  EXPECT_EQ(topology.sound_routing(), without_faults);
  EXPECT_EQ(routing_problem(routing, topology), "");
}

TEST(Detours, WhatAvoidsDeadLinksStays) {
  const std::string tree =
      "{kind: fat-tree, k: 4, node: {bandwidth: 1 GB/s, latency: 1 ns}, edge: {bandwidth: 1 GB/s, "
      "latency: 1 ns}, core: {bandwidth: 1 GB/s, latency: 1 ns}}";
  const auto topology = with_fault(tree, "aggregation[0]", "core[0]", "dead: true");
  expect_routing(*topology, "ecmp", "ecmp");
  // Routes from one NPU still leave its edge switch by both links.
  std::set<std::uint32_t> next;
  const auto routing = make_routing("ecmp", *topology);
  for (std::uint32_t to = 4; to < 16; ++to) {
    next.insert(hops_between(*topology, *routing, EntityId(0), EntityId(to)).at(2).node.value());
  }
  EXPECT_EQ(next.size(), 2U);
}

TEST(Detours, OthersAreSpreadOffGrids) {
  expect_routing(*with_fault(cluster_text(4, 2, 1, spines(4)), "leaf 0", "spine 0", "dead: true"),
                 "ecmp", "cluster");
  expect_routing(*with_fault("{kind: mesh, rows: 3, columns: 3, bandwidth: 1 GB/s, latency: 1 ns}",
                             "0", "1", "dead: true"),
                 "shortest", "xy");
  const std::string shape =
      "{kind: stack, shape: Ring(4)_FC(4), dimensions: [{bandwidth: 1 GB/s, latency: 1 ns}, "
      "{bandwidth: 1 GB/s, latency: 1 ns}]}";
  expect_routing(*with_fault(shape, "0", "1", "dead: true"), "ecmp", "stack");
  expect_routing(*with_fault(shape, "0", "1", "bandwidth: 50 %"), "stack", "stack");
}

TEST(Detours, WhatCrossesDeadLinksIsRefusedWithWhatDoesNot) {
  const auto topology =
      with_fault(cluster_text(2, 2, 1, spines(2)), "leaf 0", "spine 0", "dead: true");
  EXPECT_THAT(routing_problem("cluster", *topology), ::testing::HasSubstr("use 'ecmp'"));
}

}  // namespace
}  // namespace tessera::machine::detours_test
