#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tessera/plan/placement/route_costs.hpp"
#include "tessera/plan/traffic.hpp"
#include "wafer.hpp"

namespace tessera::plan::placement_traffic_test {
namespace {

using testing::on_wafer;
using testing::Planned;

machine::Machine machine_of(const std::string& topology) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", "topology: " + topology + "\n", diagnostics), "",
                          diagnostics);
  auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  return *std::move(machine);
}

// Link by link along the route, as a packet goes.
RouteCost walked(const machine::Topology& topology, const machine::Routing& routing, EntityId from,
                 EntityId to) {
  RouteCost cost;
  for (EntityId here = from; here != to;) {
    const machine::Link link = topology.link(here, routing.next_port(here, to));
    const Bandwidth bandwidth = topology.link_classes()[link.link_class].bandwidth;
    cost.ps_per_mib +=
        static_cast<std::uint64_t>(serialization_time(Bytes(1U << 20), bandwidth).ps());
    ++cost.hops;
    here = link.to;
  }
  return cost;
}

TEST(RouteCosts, AreThoseOfTheRoutes) {
  for (const std::string topology :
       {"{kind: mesh, rows: 3, columns: 5, bandwidth: 3 GB/s, latency: 1 ns}",
        "{kind: torus, rows: 4, columns: 5, bandwidth: 3 GB/s, latency: 1 ns}",
        "{kind: torus, rows: 1, columns: 2, bandwidth: 3 GB/s, latency: 1 ns}",
        "{kind: wafer, tiles: [2, 3], cores: [2, 3], intra_tile: {bandwidth: 7 GB/s, latency: 1 "
        "ns}, inter_tile: {bandwidth: 2 GB/s, latency: 9 ns}}",
        "{kind: graph, nodes: [{name: hub, kind: switch}, {name: gpu, count: 5}, {name: far}], "
        "links: [{from: gpu, to: hub, bandwidth: 5 GB/s, latency: 1 ns}, {from: 'gpu[2]', to: far, "
        "bandwidth: 1 GB/s, latency: 3 ns}]}"}) {
    const machine::Machine machine = machine_of(topology);
    const std::vector<std::string> names = machine.topology->grid()
                                               ? std::vector<std::string>{"xy", "yx", "shortest"}
                                               : std::vector<std::string>{"shortest"};
    const RouteCosts costs(*machine.topology);
    for (const std::string& name : names) {
      const auto routing = machine::make_routing(name, *machine.topology);
      for (std::uint32_t from = 0; from < machine.topology->nodes(); ++from) {
        for (std::uint32_t to = 0; to < machine.topology->nodes(); ++to) {
          EXPECT_TRUE(costs.between(EntityId(from), EntityId(to)) ==
                      walked(*machine.topology, *routing, EntityId(from), EntityId(to)))
              << topology << " " << name << ": " << from << " to " << to;
        }
      }
    }
  }
}

// 1 MiB over a link of 1 GiB/s takes 1/1024 s.
TEST(RouteCosts, AreTimesOfLinks) {
  const auto machine =
      machine_of("{kind: mesh, rows: 1, columns: 4, bandwidth: 1 GiB/s, latency: 1 ns}");
  const RouteCost cost = RouteCosts(*machine.topology).between(EntityId(0), EntityId(3));
  EXPECT_EQ(cost.hops, 3U);
  EXPECT_EQ(cost.ps_per_mib, 3 * 976'562'500U);
}

TEST(RouteCosts, RefuseLargeGraphs) {
  const auto machine = machine_of(
      "{kind: graph, nodes: [{name: hub, kind: switch}, {name: gpu, count: 4096}], links: [{from: "
      "gpu, to: hub, bandwidth: 5 GB/s, latency: 1 ns}]}");
  EXPECT_FALSE(RouteCosts::affordable(*machine.topology));
  EXPECT_THROW(RouteCosts(*machine.topology), ConfigError);
}

using Sums = std::map<Traffic, std::uint64_t>;

Sums sums_of(const Plan& plan) {
  Sums sums;
  for (const RoleTraffic& message : traffic_of(plan).messages) {
    sums[message.traffic] += message.bytes.count();
  }
  return sums;
}

// Shoeybi et al. (arXiv:1909.08053): two all-reduces of batch * sequence * hidden forward and two
// backward in each layer; the embedding's output is one more, the head's input gradient another,
// and the parallel cross entropy three numbers a token. Around a ring each member sends
// 2 (t - 1) / t of its vector, 2 (t - 1) vectors in all.
TEST(TrafficOf, TensorGroupsReduceFourTimesALayer) {
  const Planned made = testing::planned("{tensor: 4, micro_batch: 2}");
  const std::uint64_t vector = 2 * 16 * 32 * 64;  // bytes * batch * sequence * hidden
  const std::uint64_t entropy = 2 * 16 * 32 * 3;
  EXPECT_EQ(sums_of(made.plan),
            (Sums{{Traffic::tensor, 2 * 3 * ((4 * 6 + 2) * vector + entropy)}}));
}

// Each boundary carries every sample's activation forward and its gradient back, on every shard.
TEST(TrafficOf, BoundariesCarryTheBatch) {
  const Planned made = testing::planned("{pipeline: 4, data: 2}");
  const std::uint64_t boundary = 2 * 16 * 32 * 64;
  Sums sums = sums_of(made.plan);
  EXPECT_EQ(sums[Traffic::activation], 3 * boundary);
  EXPECT_EQ(sums[Traffic::gradient], 3 * boundary);
  EXPECT_EQ(sums[Traffic::tensor], 0U);
}

// Gradients, two bytes a parameter, all-reduced between two replicas: each sends half twice.
TEST(TrafficOf, ReplicasReduceTheirGradients) {
  const Planned made = testing::planned("{data: 2}");
  EXPECT_EQ(sums_of(made.plan)[Traffic::data], 2 * 2 * made.workload.parameters());
}

TEST(TrafficOf, NothingIsAccessedThatSramHolds) {
  EXPECT_TRUE(traffic_of(testing::planned("{data: 2}").plan).accesses.empty());
}

// Message by message, along the route of each.
TEST(HopWeightedTraffic, IsTheSumOverRoutes) {
  for (const std::string layout : {"line", "s-shape", "linear"}) {
    const Planned made = on_wafer("pipeline: 6, data: 2, tensor: 8", "layout: " + layout);
    const machine::Topology& topology = *made.machine.topology;
    const auto routing = machine::make_routing("xy", topology);
    const Placement& placement = made.plan.placement;
    const auto tile = [&](std::uint32_t role) { return placement.tiles()[role]; };
    Wide cost = 0;
    Wide byte_hops = 0;
    std::uint32_t longest = 0;
    const auto add = [&](EntityId from, EntityId to, Bytes bytes) {
      const RouteCost route = walked(topology, *routing, from, to);
      cost += route.of(bytes);
      byte_hops += static_cast<Wide>(bytes.count()) * route.hops;
      longest = std::max(longest, bytes > Bytes(0) ? route.hops : 0);
    };
    const RoleTrafficList traffic = traffic_of(made.plan);
    ASSERT_FALSE(traffic.accesses.empty());
    for (const RoleTraffic& message : traffic.messages) {
      add(tile(message.from), tile(message.to), message.bytes);
    }
    for (const RoleAccess& access : traffic.accesses) {
      const EntityId node = tile(access.role);
      const EntityId channel = made.machine.channels[made.machine.channel_of[node.value()]].node;
      add(channel, node, access.read);
      add(node, channel, access.written);
    }
    const HopTraffic total = hop_weighted_traffic(made.machine, made.plan, placement).total();
    EXPECT_TRUE(total.cost == cost) << layout;
    EXPECT_TRUE(total.byte_hops == byte_hops) << layout;
    EXPECT_EQ(total.longest_hops, longest) << layout;
  }
}

// PALM, section V-B.3: near beats far for tensor groups, and S shape beats lines for the pipeline.
TEST(HopWeightedTraffic, ComparesLayoutsAsPalmDoes) {
  const std::string degrees = "pipeline: 20, data: 4, tensor: 4";
  const auto traffic = [&](const std::string& placement) {
    const Planned made = on_wafer(degrees, placement);
    return hop_weighted_traffic(made.machine, made.plan, made.plan.placement);
  };
  const auto at = [](const PlacementTraffic& sum, Traffic kind) {
    return sum.messages[static_cast<std::size_t>(kind)];
  };
  const PlacementTraffic near = traffic("layout: s-shape");
  const PlacementTraffic far = traffic("layout: s-shape, tensor_members: far");
  const PlacementTraffic line = traffic("layout: line");
  EXPECT_EQ(at(near, Traffic::tensor).mean_hops(), 1.0);
  EXPECT_EQ(at(far, Traffic::tensor).mean_hops(), 2.0);
  EXPECT_EQ(at(near, Traffic::data).mean_hops(), 2.0);
  EXPECT_EQ(at(far, Traffic::data).mean_hops(), 1.0);
  EXPECT_EQ(at(near, Traffic::activation).longest_hops, 4U);
  EXPECT_EQ(at(line, Traffic::activation).longest_hops, 20U);  // four tiles up and one across
  EXPECT_LT(at(near, Traffic::activation).cost, at(line, Traffic::activation).cost);
}

}  // namespace
}  // namespace tessera::plan::placement_traffic_test
