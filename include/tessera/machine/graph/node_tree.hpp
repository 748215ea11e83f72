// Nodes of a graph as its file groups them: groups of nodes, and of instances of templates, which
// are groups of nodes again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

enum class NodeRole : std::uint8_t {
  tile,       // executes programs
  switching,  // passes on what it gets
  memory,     // holds data; computes nothing
};
std::string to_string(NodeRole role);

// Nodes of one name and role, or instances of one template, numbered from `first` on.
struct NodeGroup {
  static constexpr std::uint32_t no_part = 0xFFFFFFFFU;

  std::string name;
  std::uint32_t first = 0;  // from the first node of the part it is in
  std::uint32_t count = 1;
  bool indexed = false;  // name[0] … name[count-1] rather than just name
  NodeRole role = NodeRole::tile;
  std::uint32_t part = no_part;      // that each is an instance of
  std::uint32_t size = 1;            // nodes of each
  std::vector<std::uint16_t> types;  // element i has types[i % types.size()]; empty: nothing said

  bool is_plain() const { return part == no_part; }
  std::string element_name(std::uint32_t index) const {
    return indexed ? name + "[" + std::to_string(index) + "]" : name;
  }
};

// A template, or the machine itself. Groups are in order of their numbers and leave no gap.
struct NodePart {
  std::string name;
  std::vector<NodeGroup> groups;
  std::uint32_t nodes = 0;
};

class NodeTree {
 public:
  // One step on the way from the machine down to a node.
  struct Step {
    const NodePart* part = nullptr;  // that the element is in
    std::uint32_t part_number = 0;
    const NodeGroup* group = nullptr;
    std::uint32_t index = 0;  // of the element in its group
    std::uint32_t first = 0;  // number of the element's first node in the machine
  };
  static constexpr std::uint16_t no_type = 0xFFFF;

  // The last part is the machine; groups refer to earlier parts only.
  explicit NodeTree(std::vector<NodePart> parts) : parts_(std::move(parts)) {}

  std::uint32_t nodes() const { return parts_.back().nodes; }
  const std::vector<NodePart>& parts() const { return parts_; }
  bool has_templates() const { return parts_.size() > 1; }

  // All of the following: O(depth · log groups).
  Step begin(EntityId node) const { return step_in(root(), 0, node); }
  // The element of `above`, an instance, that the node is in.
  Step below(const Step& above, EntityId node) const {
    return step_in(above.group->part, above.first, node);
  }
  Step last(EntityId node) const;
  // Names of the elements, with dots between them.
  std::string node_name(EntityId node) const;
  // Of a tile: what the innermost element says that says something; no_type when none does.
  std::uint16_t type(EntityId node) const;
  std::size_t resident_bytes() const;

 private:
  std::uint32_t root() const { return static_cast<std::uint32_t>(parts_.size() - 1); }
  Step step_in(std::uint32_t part, std::uint32_t first, EntityId node) const;

  std::vector<NodePart> parts_;
};

}  // namespace tessera::machine
