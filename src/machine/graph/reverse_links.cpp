#include "graph/reverse_links.hpp"

namespace tessera::machine {

ReverseLinks::ReverseLinks(const Topology& topology) {
  const std::uint32_t nodes = topology.nodes();
  const auto for_each_link = [&](const auto& visit) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const EntityId node(n);
      for (unsigned port = 0; port < topology.ports(node); ++port) {
        const Link link = topology.link(node, port);
        if (link.to.valid()) {
          visit(node, link);
        }
      }
    }
  };
  first_.assign(std::size_t{nodes} + 1, 0);
  for_each_link([&](EntityId, Link link) { ++first_[link.to.value() + 1]; });
  for (std::uint32_t node = 0; node < nodes; ++node) {
    first_[node + 1] += first_[node];
  }
  sources_.resize(first_.back());
  std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
  for_each_link([&](EntityId from, Link link) {
    sources_[next[link.to.value()]++] = {from, link.link_class};
  });
}

}  // namespace tessera::machine
