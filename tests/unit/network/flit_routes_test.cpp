// Which channels packets of a flit network may wait for: never in a circle (W. Dally, C. Seitz,
// IEEE Trans. Comput. C-36(5), 1987, theorem 1). A buffer may hold several packets, so whatever a
// packet may be given counts, not only what it could do without.

#include "flit/routes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"

namespace tessera::network::flit_routes_test {
namespace {

using testing::mesh;

constexpr unsigned most_vcs = 32;

// Channels as numbers: link, and virtual channel on it.
class Channels {
 public:
  Channels(const machine::Topology& topology, const FlitRoutes& routes)
      : topology_(topology), routes_(routes) {
    for (std::uint32_t from = 0; from < topology.nodes(); ++from) {
      for (std::uint32_t to = 0; to < topology.nodes(); ++to) {
        if (from != to && is_end(from) && is_end(to)) {
          follow(EntityId(from), EntityId(to));
        }
      }
    }
  }

  // Takes away channels that nobody waits for; whether any are left.
  bool wait_in_a_circle() const {
    std::map<std::uint64_t, std::size_t> waiting;
    for (const auto& [channel, others] : waits_for_) {
      waiting[channel];
      for (const std::uint64_t other : others) {
        ++waiting[other];
      }
    }
    std::vector<std::uint64_t> free;
    for (const auto& [channel, count] : waiting) {
      if (count == 0) {
        free.push_back(channel);
      }
    }
    for (std::size_t at = 0; at < free.size(); ++at) {
      if (const auto found = waits_for_.find(free[at]); found != waits_for_.end()) {
        for (const std::uint64_t other : found->second) {
          if (--waiting[other] == 0) {
            free.push_back(other);
          }
        }
      }
    }
    return free.size() < waiting.size();
  }
  std::size_t longest_way() const { return longest_way_; }
  // Packets that took a link, by way of all their channels.
  std::size_t uses(EntityId node, unsigned port) const {
    const auto found = uses_.find({node.value(), port});
    return found == uses_.end() ? 0 : found->second.size();
  }

 private:
  struct At {
    EntityId node;
    unsigned in_port = 0;
    unsigned in_vc = 0;
    std::uint64_t channel = none;
    std::size_t hops = 0;
  };
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  bool is_end(std::uint32_t node) const {
    return topology_.role(EntityId(node)) != machine::NodeRole::switching;
  }

  // All that a packet may do.
  void follow(EntityId from, EntityId to) {
    std::set<std::uint64_t> seen;
    std::vector<At> open{{from, topology_.ports(from), 0, none, 0}};
    while (!open.empty()) {
      const At at = open.back();
      open.pop_back();
      const FlitChoice choice = routes_.next({at.node, from, to, at.in_port, at.in_vc});
      for (const std::uint16_t port : {choice.port, choice.other}) {
        for (unsigned vc = 0; port != no_port && vc < most_vcs; ++vc) {
          if ((choice.vcs >> vc & 1) == 0) {
            continue;
          }
          const std::uint64_t channel = (std::uint64_t{at.node.value()} << 16 | port) << 8 | vc;
          if (at.channel != none) {
            waits_for_[at.channel].insert(channel);
          }
          uses_[{at.node.value(), port}].insert({from.value(), to.value()});
          const EntityId next = topology_.link(at.node, port).to;
          longest_way_ = std::max(longest_way_, at.hops + 1);
          ASSERT_LE(at.hops, topology_.nodes());
          if (next != to && seen.insert(channel).second) {
            open.push_back({next, *port_back(topology_, at.node, port), vc, channel, at.hops + 1});
          }
        }
      }
    }
  }

  const machine::Topology& topology_;
  const FlitRoutes& routes_;
  std::map<std::uint64_t, std::set<std::uint64_t>> waits_for_;
  std::map<std::pair<std::uint32_t, unsigned>, std::set<std::pair<std::uint32_t, std::uint32_t>>>
      uses_;
  std::size_t longest_way_ = 0;
};

machine::Machine machine_of(const std::string& topology) {
  return testing::network_of(topology, "model: packet").machine;
}

struct Case {
  std::string name;
  std::string topology;
  std::string routing;  // empty: as the topology says
  unsigned vcs = 2;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

class FlitRoutesOf : public ::testing::TestWithParam<Case> {};

TEST_P(FlitRoutesOf, NeverWaitInACircle) {
  const Case& one = GetParam();
  const machine::Machine machine = machine_of(one.topology);
  const machine::Topology& topology = *machine.topology;
  std::string problem;
  const auto routes = make_flit_routes(
      topology, one.routing.empty() ? topology.default_routing() : one.routing, one.vcs, problem);
  ASSERT_NE(routes, nullptr) << problem;
  EXPECT_FALSE(Channels(topology, *routes).wait_in_a_circle());
}

std::string grid(int rows, int columns, const std::string& kind) {
  return mesh(rows, columns, "32 GB/s", "1 ns", kind);
}

const std::string links = "{bandwidth: 32 GB/s, latency: 1 ns}";

INSTANTIATE_TEST_SUITE_P(
    Machines, FlitRoutesOf,
    ::testing::Values(Case{"torus_8", grid(8, 8, "torus"), "xy", 2},
                      Case{"torus_8_of_3", grid(8, 8, "torus"), "xy", 3},
                      Case{"torus_6_of_4", grid(6, 6, "torus"), "yx", 4},
                      Case{"torus_5", grid(5, 5, "torus"), "xy", 2},
                      Case{"torus_2_by_8", grid(2, 8, "torus"), "yx", 3},
                      Case{"torus_3_by_4", grid(3, 4, "torus"), "xy", 2},
                      Case{"mesh", grid(5, 4, "mesh"), "xy", 2},
                      Case{"west_first", grid(5, 5, "mesh"), "west-first", 2},
                      Case{"odd_even", grid(5, 6, "mesh"), "odd-even", 2},
                      Case{"shortest", grid(4, 4, "torus"), "shortest", 4},
                      Case{"double_ring",
                           "{kind: double-ring, size: 16, bandwidth: 32 GB/s, latency: 1 ns}", "",
                           4},
                      Case{"dragonfly",
                           "{kind: dragonfly, groups: 4, routers: 2, npus: 2, global: 2, node: " +
                               links + ", local: " + links + ", global_links: " + links + "}",
                           "", 4},
                      Case{"fat_tree",
                           "{kind: fat-tree, k: 4, node: " + links + ", edge: " + links +
                               ", core: " + links + "}",
                           "", 1}),
    [](const auto& parameter) { return parameter.param.name; });

// Nodes that are half a ring apart: both ways of a ring carry as many pairs, by shortest ways.
TEST(FlitRoutesOfATorus, BothWaysOfARingCarryAsMuch) {
  const machine::Machine machine = machine_of(grid(6, 6, "torus"));
  const machine::Topology& topology = *machine.topology;
  std::string problem;
  const auto routes = make_flit_routes(topology, "xy", 2, problem);
  const Channels channels(topology, *routes);
  EXPECT_EQ(channels.longest_way(), 6U);
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    const EntityId here(node);
    const std::size_t east = channels.uses(here, machine::east);
    const std::size_t west = channels.uses(here, machine::west);
    // (1 + 2 + 3 / 2) pairs a row of sources, each to six rows; the halves are in whole pairs.
    EXPECT_NEAR(static_cast<double>(east), 27, 3);
    EXPECT_NEAR(static_cast<double>(west), 27, 3);
  }
}

}  // namespace
}  // namespace tessera::network::flit_routes_test
