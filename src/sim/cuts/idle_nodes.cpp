#include "cuts/idle_nodes.hpp"

namespace tessera::sim {

void give_idle_nodes(const machine::Topology& topology, std::vector<std::uint32_t>& owner) {
  std::vector<std::uint32_t> known;
  for (std::uint32_t node = 0; node < owner.size(); ++node) {
    if (owner[node] != no_owner) {
      known.push_back(node);
    }
  }
  if (known.size() == owner.size()) {
    return;
  }
  for (std::size_t at = 0; at < known.size(); ++at) {
    const EntityId node(known[at]);
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const machine::Link link = topology.link(node, port);
      if (link.to.valid() && owner[link.to.value()] == no_owner) {
        owner[link.to.value()] = owner[known[at]];
        known.push_back(link.to.value());
      }
    }
  }
  for (std::uint32_t& rank : owner) {
    rank = rank == no_owner ? 0 : rank;
  }
}

}  // namespace tessera::sim
