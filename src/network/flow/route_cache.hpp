// Routes that were asked for lately, by their ends: most senders go on to send to whom they did.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "flow/parts.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network {

struct Route {
  EntityId from = EntityId::none();
  EntityId to = EntityId::none();
  EntityId hub = EntityId::none();  // none: its links are not of one part
  SimTime latency;
  Bandwidth bottleneck;
  std::vector<std::uint32_t> links;  // places at the hub
};

// A route has two places, by a hash of its ends, and takes that of another when both are in use.
// Not for concurrent use.
class RouteCache {
 public:
  // `senders`: how many entities will ask for routes of their own. Parts are found before the first
  // route is asked for.
  RouteCache(const machine::Topology& topology, const machine::Routing& routing,
             const FlowParts& parts, std::size_t senders)
      : topology_(topology),
        routing_(routing),
        parts_(parts),
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
    route.from = EntityId::none();
    route.to = to;
    route.hub = EntityId::none();
    route.latency = SimTime::zero();
    route.bottleneck = Bandwidth::bytes_per_second(std::numeric_limits<std::uint64_t>::max());
    route.links.clear();
    bool is_of_one_part = true;
    for (const machine::Hop& hop : machine::hops_between(topology_, routing_, from, to)) {
      const machine::LinkClass& link_class =
          topology_.link_classes()[topology_.link(hop.node, hop.port).link_class];
      const std::uint32_t link = parts_.numbers().number(hop.node, hop.port);
      const EntityId hub = parts_.hub(link);
      is_of_one_part = is_of_one_part && (route.links.empty() || hub == route.hub);
      route.hub = hub;
      route.links.push_back(parts_.place(link));
      route.latency += link_class.latency;
      route.bottleneck = std::min(route.bottleneck, link_class.bandwidth);
    }
    if (!is_of_one_part) {
      route.hub = EntityId::none();
    }
    route.from = from;  // last: a walk that throws leaves no route
  }

  const machine::Topology& topology_;
  const machine::Routing& routing_;
  const FlowParts& parts_;
  std::vector<Route> routes_;
  unsigned shift_;
};

}  // namespace tessera::network
