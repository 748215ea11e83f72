// How long ways through a machine are, and which of two is the shorter.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Of the way from one node to another: the order of RouteRule, then of the sum of latencies, then
// of hops. Sums are exact, so that ways have one order however they are put together.
struct Distance {
  std::uint32_t ends = out_of_reach;  // that the way passes; 0 where the rule does not mind
  std::uint32_t hops = 0;
  SimTime cost;  // of the links, as RouteRule::by says; 0 by latency
  SimTime latency;

  static constexpr std::uint32_t out_of_reach = std::numeric_limits<std::uint32_t>::max();
  static Distance none() { return {0, 0, SimTime::zero(), SimTime::zero()}; }
  bool is_finite() const { return ends != out_of_reach; }

  friend std::strong_ordering operator<=>(const Distance& a, const Distance& b) {
    if (const auto order = a.ends <=> b.ends; order != 0) {
      return order;
    }
    if (const auto order = a.cost <=> b.cost; order != 0) {
      return order;
    }
    if (const auto order = a.latency <=> b.latency; order != 0) {
      return order;
    }
    return a.hops <=> b.hops;
  }
  friend bool operator==(const Distance& a, const Distance& b) { return (a <=> b) == 0; }
};

// One way behind the other, over a node that is such an end or not. A way of no hops passes
// nothing.
inline Distance joined(const Distance& first, const Distance& second, bool over_end) {
  if (!first.is_finite() || !second.is_finite()) {
    return {};
  }
  const bool passes = over_end && first.hops > 0 && second.hops > 0;
  return {first.ends + second.ends + (passes ? 1U : 0U), first.hops + second.hops,
          first.cost + second.cost, first.latency + second.latency};
}

// What a topology's rule makes of its links and nodes.
class Distances {
 public:
  explicit Distances(const Topology& topology);  // kept by reference
  const Distance& of(const Link& link) const { return of_class_[link.link_class]; }
  const Distance& of_class(std::uint16_t link_class) const { return of_class_[link_class]; }
  // Whether ways avoid to pass a node of this role.
  bool is_end(NodeRole role) const { return minds_ends_ && role != NodeRole::switching; }
  bool is_end(EntityId node) const { return minds_ends_ && is_end(topology_->role(node)); }

 private:
  const Topology* topology_;
  bool minds_ends_;
  std::vector<Distance> of_class_;
};

}  // namespace tessera::machine
