// Routes that were asked for lately, by their ends: most senders go on to send to whom they did.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/machine/routing/routing.hpp"

namespace tessera::network {

// All links of a machine, numbered: those of a node by port, nodes one after the other.
class LinkNumbers {
 public:
  explicit LinkNumbers(const machine::Topology& topology) : first_(1) {
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      first_.push_back(first_.back() + topology.ports(EntityId(node)));
    }
  }
  std::uint32_t number(EntityId node, unsigned port) const { return first_[node.value()] + port; }
  std::uint32_t count() const { return first_.back(); }

 private:
  std::vector<std::uint32_t> first_;  // [nodes + 1]
};

struct Route {
  EntityId from = EntityId::none();
  EntityId to = EntityId::none();
  SimTime latency;
  std::vector<std::uint32_t> links;
};

// A route has two places, by a hash of its ends, and takes that of another when both are in use.
// Not for concurrent use.
class RouteCache {
 public:
  // `senders`: how many entities will ask for routes of their own.
  RouteCache(const machine::Topology& topology, const machine::Routing& routing,
             const LinkNumbers& numbers, std::size_t senders)
      : topology_(topology),
        routing_(routing),
        numbers_(numbers),
        routes_(std::clamp(std::bit_ceil(senders * routes_a_sender), fewest, most)),
        shift_(64U - static_cast<unsigned>(std::countr_zero(routes_.size()))) {}

  // Valid until the next call.
  const Route& find(EntityId from, EntityId to) {
    const std::uint64_t ends = std::uint64_t{from.value()} << 32U | to.value();
    const std::size_t place = (ends * golden_ratio) >> shift_;
    Route& first = routes_[place];
    if (first.from == from && first.to == to) [[likely]] {
      return first;
    }
    Route& second = routes_[place ^ 1U];
    if (second.from == from && second.to == to) {
      return second;
    }
    Route& route = first.from.valid() ? second : first;
    walk(from, to, route);
    return route;
  }

 private:
  static constexpr std::size_t routes_a_sender = 4;
  static constexpr std::size_t fewest = 256;
  static constexpr std::size_t most = 65536;
  static constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;  // of 2^64: spreads keys

  void walk(EntityId from, EntityId to, Route& route) const {
    route = {EntityId::none(), to, SimTime::zero(), std::move(route.links)};
    route.links.clear();
    for (const machine::Hop& hop : machine::hops_between(topology_, routing_, from, to)) {
      route.links.push_back(numbers_.number(hop.node, hop.port));
      route.latency +=
          topology_.link_classes()[topology_.link(hop.node, hop.port).link_class].latency;
    }
    route.from = from;  // last: a walk that throws leaves no route
  }

  const machine::Topology& topology_;
  const machine::Routing& routing_;
  const LinkNumbers& numbers_;
  std::vector<Route> routes_;
  unsigned shift_;
};

}  // namespace tessera::network
