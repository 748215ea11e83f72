#include "tessera/machine/topology/cluster.hpp"

namespace tessera::machine {
namespace {

using Kind = ClusterPlace::Kind;

// The NIC by which a node is reached from outside of its server.
std::uint32_t entry_nic(const Cluster& cluster, const ClusterPlace& place) {
  switch (place.kind) {
    case Kind::accelerator:
      return place.index / cluster.share();
    case Kind::nic:
      return place.index;
    default:
      return 0;
  }
}

bool is_in_server(const ClusterPlace& place) {
  return place.kind != Kind::leaf && place.kind != Kind::spine;
}

}  // namespace

ClusterPlace Cluster::place(EntityId node) const {
  const std::uint32_t number = node.value();
  if (number < first_hub()) {
    return {Kind::accelerator, number / accelerators, number % accelerators};
  }
  if (number < first_nic()) {
    return {Kind::hub, number - first_hub(), 0};
  }
  if (number < first_leaf()) {
    const std::uint32_t nic_number = number - first_nic();
    return {Kind::nic, nic_number / nics, nic_number % nics};
  }
  if (number < first_spine()) {
    return {Kind::leaf, 0, number - first_leaf()};
  }
  return {Kind::spine, 0, number - first_spine()};
}

// From one node of a server to another one of it.
unsigned ClusterRouting::inside(const ClusterPlace& at, const ClusterPlace& to) const {
  const std::uint32_t share = cluster_.share();
  switch (at.kind) {
    case Kind::accelerator:
      return to.kind == Kind::nic && to.index == at.index / share ? to_nic : to_hub;
    case Kind::hub:
      return to.kind == Kind::accelerator ? to.index : to.index * share;
    default: {  // a NIC: what is not its own accelerator lies behind the hub
      const bool own = to.kind == Kind::accelerator && to.index / share == at.index;
      return own ? to.index - at.index * share : 0;
    }
  }
}

unsigned ClusterRouting::up_from_leaf(std::uint32_t leaf, const ClusterPlace& to) const {
  std::uint32_t spine = to.index;  // to a spine, or towards a leaf
  if (is_in_server(to)) {
    spine = cluster_.rails ? to.server : to.server * cluster_.nics + entry_nic(cluster_, to);
  }
  return cluster_.leaf_nics(leaf) + spine % cluster_.spines;
}

unsigned ClusterRouting::next_port(EntityId here, EntityId target) const {
  const ClusterPlace at = cluster_.place(here);
  const ClusterPlace to = cluster_.place(target);
  if (is_in_server(at) && is_in_server(to) && at.server == to.server) {
    return inside(at, to);
  }
  switch (at.kind) {
    case Kind::accelerator:
      return to_nic;
    case Kind::hub:
      return 0;
    case Kind::nic:
      return cluster_.share();
    case Kind::leaf: {
      const std::uint32_t nic = entry_nic(cluster_, to);
      const bool below = is_in_server(to) && cluster_.leaf_of(to.server, nic) == at.index;
      return below ? cluster_.leaf_port(to.server, nic) : up_from_leaf(at.index, to);
    }
    default:  // a spine; another spine is behind any leaf
      return is_in_server(to)        ? cluster_.leaf_of(to.server, entry_nic(cluster_, to))
             : to.kind == Kind::leaf ? to.index
                                     : 0;
  }
}

}  // namespace tessera::machine
