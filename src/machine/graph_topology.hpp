// A machine whose nodes and links are listed one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/machine/topology.hpp"

namespace tessera::machine {

// Nodes of one name and kind, numbered from `first` on.
struct NodeGroup {
  std::string name;
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  bool indexed = false;  // name[0] … name[count-1] rather than just name
  bool computes = true;

  std::string node_name(std::uint32_t index) const;
};

struct DirectedLink {
  EntityId from;
  EntityId to;
  std::uint16_t link_class = 0;
};

// Ports of a node are numbered in the order of `links`. 8 bytes a directed link and 4 a node.
// Groups are in order of their numbers and leave no gap.
class GraphTopology final : public Topology {
 public:
  GraphTopology(std::vector<NodeGroup> groups, std::vector<LinkClass> classes,
                const std::vector<DirectedLink>& links);

  std::uint32_t nodes() const override {
    return static_cast<std::uint32_t>(first_link_.size() - 1);
  }
  unsigned ports(EntityId node) const override {
    return first_link_[node.value() + 1] - first_link_[node.value()];
  }
  Link link(EntityId node, unsigned port) const override {
    return links_[first_link_[node.value()] + port];
  }
  // A square in order of numbers: the file says nothing about places.
  Position position(EntityId node) const override;
  // O(log groups).
  std::string node_name(EntityId node) const override;
  bool computes(EntityId node) const override { return group_of(node).computes; }
  std::size_t resident_bytes() const override;

 private:
  const NodeGroup& group_of(EntityId node) const;

  std::vector<NodeGroup> groups_;
  std::vector<std::uint32_t> first_link_;  // [nodes + 1]
  std::vector<Link> links_;                // by node, then port
  std::uint32_t columns_ = 1;              // of the square to draw
};

}  // namespace tessera::machine
