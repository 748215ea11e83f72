// Stacks: notation, shape, routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reading.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::machine::stack_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read;
using testing::topology_of;

// The latency of dimension d is 10^d ns.
std::unique_ptr<Topology> stack_of(const std::string& shape) {
  std::string problem;
  const auto dimensions = parse_stack(shape, problem);
  std::string entries;
  std::string latency = "1";
  for (std::size_t d = 0; d < dimensions->size(); ++d) {
    entries +=
        (d > 0 ? ", " : "") + std::string("{bandwidth: 10 GB/s, latency: ") + latency + " ns}";
    latency += "0";
  }
  return topology_of("{kind: stack, shape: " + shape + ", dimensions: [" + entries + "]}");
}

const std::vector<std::string> shapes{"Ring(1)",
                                      "Ring(2)",
                                      "Ring(5)",
                                      "FC(4)",
                                      "Switch(6)",
                                      "Ring(4)_FC(3)_Switch(2)",
                                      "Switch(2)_Switch(3)_Ring(2)",
                                      "FC(1)_Ring(3)_Switch(1)"};

TEST(StackNotation, IsThePapers) {
  std::string problem;
  const auto stack = parse_stack("Ring(4)_fc(8)_SW(16)_R(2)", problem);
  ASSERT_TRUE(stack.has_value());
  EXPECT_THAT(*stack,
              ElementsAre(StackDimension{Block::ring, 4}, StackDimension{Block::fully_connected, 8},
                          StackDimension{Block::switched, 16}, StackDimension{Block::ring, 2}));
  EXPECT_EQ(to_string(*stack), "Ring(4)_FC(8)_Switch(16)_Ring(2)");
}

TEST(StackNotation, RefusesAnythingElse) {
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"", "no dimension"},
                                                        {"Ring", "no dimension"},
                                                        {"Ring(4", "no dimension"},
                                                        {"Ring(4)_", "no dimension"},
                                                        {"Rong(4)", "did you mean 'Ring'"},
                                                        {"Ring(0)", "from 1 on"},
                                                        {"Ring(-4)", "from 1 on"},
                                                        {"Ring(4.5)", "from 1 on"},
                                                        {"Ring()", "from 1 on"},
                                                        {"Ring(99999999999)", "from 1 on"}}) {
    std::string problem;
    EXPECT_FALSE(parse_stack(text, problem).has_value()) << text;
    EXPECT_THAT(problem, HasSubstr(part)) << text;
  }
}

TEST(Stack, LinksLeadBothWays) {
  for (const std::string& shape : shapes) {
    const auto topology = stack_of(shape);
    std::multiset<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>> links;
    for (std::uint32_t n = 0; n < topology->nodes(); ++n) {
      for (unsigned port = 0; port < topology->ports(EntityId(n)); ++port) {
        const Link link = topology->link(EntityId(n), port);
        ASSERT_LT(link.to.value(), topology->nodes()) << shape;
        EXPECT_NE(link.to.value(), n) << shape;
        EXPECT_TRUE(links.insert({n, link.to.value(), link.link_class}) != links.end());
      }
    }
    EXPECT_EQ(links.size(), std::set(links.begin(), links.end()).size()) << shape;
    for (const auto& [from, to, link_class] : links) {
      EXPECT_TRUE(links.contains({to, from, link_class})) << shape;
    }
  }
}

TEST(Stack, CountsNpusSwitchesAndLinks) {
  const auto topology = stack_of("Ring(4)_FC(3)_Switch(2)");
  EXPECT_EQ(topology->computing_nodes(), 24U);
  EXPECT_EQ(topology->nodes(), 24U + 12U);
  EXPECT_EQ(topology->links(), 24U * (2 + 2 + 1) + 12U * 2);
  const Stack& stack = *topology->stack();
  EXPECT_EQ(stack.stride(2), 12U);
  EXPECT_EQ(stack.coordinate(23, 0), 3U);
  EXPECT_EQ(stack.coordinate(23, 1), 2U);
  EXPECT_EQ(stack.coordinate(23, 2), 1U);
  EXPECT_EQ(stack.moved(23, 1, 0), 15U);
  EXPECT_EQ(topology->node_name(EntityId(23)), "NPU (3,2,1)");
  EXPECT_EQ(topology->node_name(stack.switch_of(23, 2)), "switch of dimension 2 at (3,2,0)");
}

TEST(Stack, SwitchesKnowTheirMembers) {
  const auto topology = stack_of("Switch(2)_Switch(3)_Ring(2)");
  const Stack& stack = *topology->stack();
  for (std::uint32_t npu = 0; npu < stack.npus(); ++npu) {
    for (const std::uint32_t d : {0U, 1U}) {
      const EntityId the_switch = stack.switch_of(npu, d);
      const StackPlace place = stack.place(the_switch);
      EXPECT_FALSE(place.is_npu);
      EXPECT_EQ(place.dimension, d);
      EXPECT_EQ(stack.member(place, stack.coordinate(npu, d)), npu);
      EXPECT_EQ(topology->link(the_switch, stack.coordinate(npu, d)).to, EntityId(npu));
    }
  }
}

// As many hops as the paper's equation counts: the shorter way round a ring, one in a full mesh,
// two through a switch.
TEST(Stack, RoutesTakeTheFewestHops) {
  for (const std::string& shape : shapes) {
    const auto topology = stack_of(shape);
    const Stack& stack = *topology->stack();
    const auto routing = make_routing("stack", *topology);
    const auto shortest = make_routing("shortest", *topology);
    for (std::uint32_t a = 0; a < topology->nodes(); ++a) {
      for (std::uint32_t b = 0; b < topology->nodes(); ++b) {
        const Path path = path_between(*topology, *routing, EntityId(a), EntityId(b));
        if (a >= stack.npus() || b >= stack.npus()) {
          continue;  // that it arrives is enough
        }
        std::uint32_t hops = 0;
        for (std::uint32_t d = 0; d < stack.dimensions().size(); ++d) {
          const auto [block, size] = stack.dimensions()[d];
          const std::uint32_t up = (stack.coordinate(b, d) + size - stack.coordinate(a, d)) % size;
          hops += block == Block::ring       ? std::min(up, size - up)
                  : up == 0                  ? 0
                  : block == Block::switched ? 2
                                             : 1;
        }
        EXPECT_EQ(path.hops, hops) << shape << ' ' << a << ' ' << b;
        const Path other = path_between(*topology, *shortest, EntityId(a), EntityId(b));
        EXPECT_EQ(path.latency, other.latency) << shape << ' ' << a << ' ' << b;
      }
    }
  }
}

TEST(Stack, GoesUpARingOnATie) {
  const auto topology = stack_of("Ring(4)");
  const auto routing = make_routing("stack", *topology);
  EXPECT_EQ(topology->link(EntityId(0), routing->next_port(EntityId(0), EntityId(2))).to,
            EntityId(1));
}

TEST(Stack, TakesBlocksOneByOne) {
  const auto topology = topology_of(
      "{kind: stack, dimensions: [{block: ring, size: 4, bandwidth: 1 GB/s, latency: 1 ns}, "
      "{block: fully-connected, size: 2, bandwidth: 2 GB/s, latency: 3 ns}]}");
  EXPECT_EQ(to_string(topology->stack()->dimensions()), "Ring(4)_FC(2)");
  EXPECT_EQ(topology->link_classes()[1].bandwidth, Bandwidth::bytes_per_second(2'000'000'000));
}

TEST(Stack, SaysWhatIsWrong) {
  const auto complaint = [](const std::string& flow) {
    const auto reading = read("topology: " + flow + "\n");
    return reading.complaints.empty() ? "" : reading.complaints.front();
  };
  EXPECT_THAT(complaint("{kind: stack, shape: Ring(4)_Hub(2), dimensions: []}"),
              HasSubstr("topology.shape: unknown block 'Hub'"));
  EXPECT_THAT(complaint("{kind: stack, shape: Ring(4)_FC(2), dimensions: [{bandwidth: 1 GB/s, "
                        "latency: 1 ns}]}"),
              HasSubstr("has 1 entries, but Ring(4)_FC(2) has 2 dimensions"));
  EXPECT_THAT(complaint("{kind: stack}"), HasSubstr("must list at least one dimension"));
  EXPECT_THAT(complaint("{kind: stack, shape: Ring(4), dimensions: [{size: 4, bandwidth: 1 GB/s, "
                        "latency: 1 ns}]}"),
              HasSubstr("size"));
  EXPECT_THAT(complaint("{kind: stack, shape: Ring(20000)_Ring(20000), dimensions: [{bandwidth: 1 "
                        "GB/s, latency: 1 ns}, {bandwidth: 1 GB/s, latency: 1 ns}]}"),
              HasSubstr("too many NPUs"));
}

TEST(Stack, IsCutOverRanks) {
  const auto topology = stack_of("Ring(4)_FC(3)_Switch(2)");
  for (const int ranks : {2, 3, 4}) {
    const Partition partition =
        partitioners().at(default_partitioner(*topology))(*topology, ranks, {});
    for (const auto& members : partition.members) {
      EXPECT_FALSE(members.empty());
    }
  }
}

}  // namespace
}  // namespace tessera::machine::stack_test
