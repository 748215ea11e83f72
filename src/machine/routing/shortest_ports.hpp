// Which port of a node begins a shortest way.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/machine/routing/distance.hpp"

namespace tessera::machine {

// The way over a link and on from its end.
inline Distance beyond(const Distances& measure, const Distance& link, EntityId end,
                       const Distance& rest) {
  return joined(link, rest, measure.is_end(end));
}

// Of ports that are as short as any, one: see ShortestPathRouting.
class ShortestPorts {
 public:
  // Kept by reference.
  ShortestPorts(const Topology& topology, const Distances& measure, bool spread)
      : topology_(&topology), measure_(&measure), spread_(spread) {}

  // `distance_of(node)`: to the target. The number of ports where none is on a way.
  template <class DistanceOf>
  unsigned port(EntityId node, EntityId target, const DistanceOf& distance_of) {
    const unsigned ports = topology_->ports(node);
    const Distance distance = distance_of(node);
    ways_.clear();
    EntityId end = EntityId::none();
    for (unsigned port = 0; port < ports && node != target; ++port) {
      const Link link = topology_->link(node, port);
      const bool may_be = spread_ || ways_.empty() || link.to == end;
      if (may_be && link.to.valid() && is_on_the_way(link, distance_of(link.to), distance)) {
        ways_.push_back(port);
        end = link.to;
      }
    }
    if (ways_.empty()) {
      return ports;
    }
    const std::uint64_t number =
        spread_ ? mix64(std::uint64_t{node.value()} << 32 | target.value()) : target.value();
    return ways_[ways_.size() == 1 ? 0 : number % ways_.size()];
  }

 private:
  bool is_on_the_way(const Link& link, const Distance& rest, const Distance& distance) const {
    return rest.is_finite() && beyond(*measure_, measure_->of(link), link.to, rest) == distance;
  }

  const Topology* topology_;
  const Distances* measure_;
  bool spread_;
  std::vector<unsigned> ways_;  // to one end, or spread
};

inline ModelError no_way(const Topology& topology, EntityId from, EntityId to) {
  return ModelError(
      "no way leads from " + topology.node_name(from) + " to " + topology.node_name(to),
      SimTime::never(), from);
}

}  // namespace tessera::machine
