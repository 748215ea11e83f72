// Puts a graph together that follows from a few numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/topology.hpp"

namespace tessera::machine {

// A graph with a routing of its own.
class GeneratedTopology final : public Topology {
 public:
  GeneratedTopology(GraphTopology graph, std::string routing)
      : graph_(std::move(graph)), routing_(std::move(routing)) {
    classes_ = graph_.link_classes();
  }
  std::uint32_t nodes() const override { return graph_.nodes(); }
  unsigned ports(EntityId node) const override { return graph_.ports(node); }
  Link link(EntityId node, unsigned port) const override { return graph_.link(node, port); }
  Position position(EntityId node) const override { return graph_.position(node); }
  std::string node_name(EntityId node) const override { return graph_.node_name(node); }
  bool computes(EntityId node) const override { return graph_.computes(node); }
  const NodeTree* tree() const override { return graph_.tree(); }
  std::string default_routing() const override { return routing_; }
  std::size_t resident_bytes() const override { return graph_.resident_bytes(); }

 private:
  GraphTopology graph_;
  std::string routing_;
};

// Nodes and links a generated graph may have: they are stored one by one.
inline constexpr std::uint64_t generated_limit = std::uint64_t{1} << 24;

class GraphBuilder {
 public:
  explicit GraphBuilder(std::vector<LinkClass> classes) : classes_(std::move(classes)) {}

  // The first of `count` nodes, name[0] … name[count-1].
  std::uint32_t add_nodes(const std::string& name, std::uint32_t count, bool computes) {
    const std::uint32_t first = nodes_;
    NodeGroup group;
    group.name = name;
    group.first = first;
    group.count = count;
    group.indexed = true;
    group.role = computes ? NodeRole::tile : NodeRole::switching;
    groups_.push_back(std::move(group));
    nodes_ += count;
    return first;
  }
  void join(std::uint32_t a, std::uint32_t b, std::uint16_t link_class) {
    links_.push_back({EntityId(a), EntityId(b), link_class});
    links_.push_back({EntityId(b), EntityId(a), link_class});
  }
  std::unique_ptr<Topology> build(const std::string& routing) && {
    return std::make_unique<GeneratedTopology>(
        GraphTopology(std::move(groups_), std::move(classes_), links_), routing);
  }

 private:
  std::vector<LinkClass> classes_;
  std::vector<NodeGroup> groups_;
  std::vector<DirectedLink> links_;
  std::uint32_t nodes_ = 0;
};

// Complains at `key` when there are too many nodes or directed links.
bool fits_generated_limit(config::Section& section, const std::string& key, std::uint64_t nodes,
                          std::uint64_t links);

}  // namespace tessera::machine
