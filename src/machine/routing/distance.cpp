#include "tessera/machine/routing/distance.hpp"

#include "tessera/core/error.hpp"

namespace tessera::machine {
namespace {

// Large enough for rates to differ by less than a millionth up to TB/s.
constexpr Bytes transfer = Bytes(std::uint64_t{1} << 20);

SimTime cost_of(const LinkClass& link_class, RouteLength by) {
  switch (by) {
    case RouteLength::latency:
      return SimTime::zero();
    case RouteLength::hops:
      return SimTime::from_ps(1);
    case RouteLength::bandwidth:
      return serialization_time(transfer, link_class.bandwidth);
  }
  throw InternalError("a length of ways outside its list");
}

}  // namespace

Distances::Distances(const Topology& topology)
    : topology_(&topology), minds_ends_(!topology.route_rule().through_ends) {
  for (const LinkClass& link_class : topology.link_classes()) {
    of_class_.push_back({0, 1, cost_of(link_class, topology.route_rule().by), link_class.latency});
  }
}

}  // namespace tessera::machine
