#include "graph_topology.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::machine {

std::string NodeGroup::node_name(std::uint32_t index) const {
  return indexed ? name + "[" + std::to_string(index) + "]" : name;
}

GraphTopology::GraphTopology(std::vector<NodeGroup> groups, std::vector<LinkClass> classes,
                             const std::vector<DirectedLink>& links)
    : groups_(std::move(groups)) {
  ensure(!groups_.empty(), "a graph without nodes");
  classes_ = std::move(classes);
  const std::uint32_t node_count = groups_.back().first + groups_.back().count;
  while (std::uint64_t{columns_} * columns_ < node_count) {
    ++columns_;
  }
  first_link_.assign(node_count + 1, 0);
  for (const DirectedLink& link : links) {
    ++first_link_[link.from.value() + 1];
  }
  for (std::uint32_t node = 0; node < node_count; ++node) {
    first_link_[node + 1] += first_link_[node];
  }
  links_.resize(links.size());
  std::vector<std::uint32_t> next(first_link_.begin(), first_link_.end() - 1);
  for (const DirectedLink& link : links) {
    links_[next[link.from.value()]++] = {link.to, link.link_class};
  }
}

const NodeGroup& GraphTopology::group_of(EntityId node) const {
  const auto after = std::upper_bound(
      groups_.begin(), groups_.end(), node.value(),
      [](std::uint32_t number, const NodeGroup& group) { return number < group.first; });
  return *(after - 1);
}

Position GraphTopology::position(EntityId node) const {
  return {static_cast<double>(node.value() % columns_),
          static_cast<double>(node.value() / columns_)};
}

std::string GraphTopology::node_name(EntityId node) const {
  const NodeGroup& group = group_of(node);
  return group.node_name(node.value() - group.first);
}

std::size_t GraphTopology::resident_bytes() const {
  std::size_t bytes = Topology::resident_bytes() - sizeof(Topology) + sizeof(*this) +
                      groups_.capacity() * sizeof(NodeGroup) +
                      first_link_.capacity() * sizeof(std::uint32_t) +
                      links_.capacity() * sizeof(Link);
  for (const NodeGroup& group : groups_) {
    bytes += group.name.capacity();
  }
  return bytes;
}

}  // namespace tessera::machine
