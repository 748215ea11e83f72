// Links of a grid by the node they lead to.
#pragma once

#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Calls visit(from, link) for each link of `topology` to `node`: without dead links, a neighbour's
// opposite port leads back.
template <class Visit>
void visit_links_into(const Topology& topology, EntityId node, const Visit& visit) {
  static_assert((west ^ 1U) == east && (north ^ 1U) == south);
  for (unsigned port = 0; port < topology.ports(node); ++port) {
    const EntityId from = topology.sound().link(node, port).to;
    const Link link = from.valid() ? topology.link(from, port ^ 1U) : Link{};
    if (link.to == node) {
      visit(from, link);
    }
  }
}

}  // namespace tessera::machine
