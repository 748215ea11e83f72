#include "tessera/machine/graph/node_tree.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::machine {

std::string to_string(NodeRole role) {
  switch (role) {
    case NodeRole::tile:
      return "tile";
    case NodeRole::switching:
      return "switch";
    case NodeRole::memory:
      return "memory";
  }
  throw InternalError("a role outside its list");
}

NodeTree::Step NodeTree::step_in(std::uint32_t part, std::uint32_t first, EntityId node) const {
  const std::vector<NodeGroup>& groups = parts_[part].groups;
  const std::uint32_t inside = node.value() - first;
  const auto after = std::upper_bound(
      groups.begin(), groups.end(), inside,
      [](std::uint32_t number, const NodeGroup& group) { return number < group.first; });
  const NodeGroup& group = *(after - 1);
  const std::uint32_t index = (inside - group.first) / group.size;
  return {&parts_[part], part, &group, index, first + group.first + index * group.size};
}

NodeTree::Step NodeTree::last(EntityId node) const {
  Step step = begin(node);
  while (!step.group->is_plain()) {
    step = below(step, node);
  }
  return step;
}

std::string NodeTree::node_name(EntityId node) const {
  Step step = begin(node);
  std::string name = step.group->element_name(step.index);
  while (!step.group->is_plain()) {
    step = below(step, node);
    name += "." + step.group->element_name(step.index);
  }
  return name;
}

std::uint16_t NodeTree::type(EntityId node) const {
  std::uint16_t type = no_type;
  Step step = begin(node);
  for (;; step = below(step, node)) {
    if (!step.group->types.empty()) {
      type = step.group->types[step.index % step.group->types.size()];
    }
    if (step.group->is_plain()) {
      return type;
    }
  }
}

std::size_t NodeTree::resident_bytes() const {
  std::size_t bytes = parts_.capacity() * sizeof(NodePart);
  for (const NodePart& part : parts_) {
    bytes += part.name.capacity() + part.groups.capacity() * sizeof(NodeGroup);
    for (const NodeGroup& group : part.groups) {
      bytes += group.name.capacity() + group.types.capacity() * sizeof(std::uint16_t);
    }
  }
  return bytes;
}

}  // namespace tessera::machine
