#include "graph/topology.hpp"

#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::machine {
namespace {

NodeTree tree_of(std::vector<NodeGroup> groups) {
  ensure(!groups.empty(), "a graph without nodes");
  const std::uint32_t nodes = groups.back().first + groups.back().count;
  return NodeTree({{"", std::move(groups), nodes}});
}

}  // namespace

GraphTopology::GraphTopology(std::vector<NodeGroup> groups, std::vector<LinkClass> classes,
                             const std::vector<DirectedLink>& links)
    : GraphTopology(tree_of(std::move(groups)), std::move(classes), links) {}

GraphTopology::GraphTopology(NodeTree tree, std::vector<LinkClass> classes,
                             const std::vector<DirectedLink>& links)
    : tree_(std::move(tree)) {
  classes_ = std::move(classes);
  const std::uint32_t node_count = tree_.nodes();
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

Position GraphTopology::position(EntityId node) const {
  const auto row = node.value() / columns_;
  const auto column = node.value() % columns_;
  return {static_cast<double>(column), static_cast<double>(row)};
}

std::uint32_t GraphTopology::domain(EntityId node) const {
  NodeTree::Step step = tree_.begin(node);
  std::uint32_t domain = node.value();
  for (; !step.group->is_plain(); step = tree_.below(step, node)) {
    domain = step.first;
  }
  return domain;
}

std::string GraphTopology::default_routing() const {
  return routes_ ? "given" : hierarchy_ ? "hierarchy" : "shortest";
}

std::size_t GraphTopology::resident_bytes() const {
  std::size_t bytes = Topology::resident_bytes() - sizeof(Topology) + sizeof(*this) +
                      tree_.resident_bytes() + first_link_.capacity() * sizeof(std::uint32_t) +
                      links_.capacity() * sizeof(Link) + memories_.capacity() * sizeof(MemoryNode) +
                      (hierarchy_ ? hierarchy_->resident_bytes() : 0);
  for (const MemoryNode& memory : memories_) {
    bytes += memory.owners.capacity() * sizeof(EntityId);
  }
  if (routes_) {
    bytes += routes_->ports.size() * (sizeof(std::uint64_t) + sizeof(unsigned) + 2 * sizeof(void*));
  }
  return bytes;
}

}  // namespace tessera::machine
