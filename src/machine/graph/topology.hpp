// A machine whose nodes and links are stored one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/machine/graph/hierarchy.hpp"
#include "tessera/machine/graph/node_tree.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

struct DirectedLink {
  EntityId from;
  EntityId to;
  std::uint16_t link_class = 0;
};

// Ports of a node are numbered in the order of `links`. 8 bytes a directed link and 4 a node; names
// and roles take memory only where they are told.
class GraphTopology final : public Topology {
 public:
  GraphTopology(NodeTree tree, std::vector<LinkClass> classes,
                const std::vector<DirectedLink>& links);
  // Of groups of nodes without templates.
  GraphTopology(std::vector<NodeGroup> groups, std::vector<LinkClass> classes,
                const std::vector<DirectedLink>& links);

  void add_types(std::vector<TileTypeName> types) { types_ = std::move(types); }
  void add_memories(std::vector<MemoryNode> memories) { memories_ = std::move(memories); }
  void add_hierarchy(std::shared_ptr<const Hierarchy> hierarchy) {
    hierarchy_ = std::move(hierarchy);
  }
  void set_route_rule(RouteRule rule) { route_rule_ = rule; }
  void add_routes(GivenRoutes routes) {
    routes_ = std::make_unique<const GivenRoutes>(std::move(routes));
  }

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
  std::string node_name(EntityId node) const override { return tree_.node_name(node); }
  NodeRole role(EntityId node) const override { return tree_.last(node).group->role; }
  bool computes(EntityId node) const override { return role(node) == NodeRole::tile; }
  // Instances of the smallest templates.
  std::uint32_t domain(EntityId node) const override;
  std::vector<TileTypeName> tile_types() const override { return types_; }
  std::uint16_t tile_type(EntityId node) const override { return tree_.type(node); }
  const std::vector<MemoryNode>& memory_nodes() const override { return memories_; }
  const NodeTree* tree() const override { return &tree_; }
  const Hierarchy* hierarchy() const override { return hierarchy_.get(); }
  const GivenRoutes* given_routes() const override { return routes_.get(); }
  RouteRule route_rule() const override { return route_rule_; }
  std::string default_routing() const override;
  std::size_t resident_bytes() const override;

 private:
  NodeTree tree_;
  std::vector<std::uint32_t> first_link_;  // [nodes + 1]
  std::vector<Link> links_;                // by node, then port
  std::uint32_t columns_ = 1;              // of the square to draw
  std::vector<TileTypeName> types_;
  std::vector<MemoryNode> memories_;
  std::shared_ptr<const Hierarchy> hierarchy_;
  std::unique_ptr<const GivenRoutes> routes_;
  RouteRule route_rule_;
};

}  // namespace tessera::machine
