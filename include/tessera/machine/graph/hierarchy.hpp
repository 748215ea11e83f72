// Shortest ways through a graph of templates, without a table of pairs or of targets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/machine/routing/distance.hpp"
#include "tessera/machine/routing/known_ports.hpp"

namespace tessera::machine {

// Distances inside each template, from which those of any two nodes follow. The gates of a template
// are its nodes with a link that leaves an instance; its vertices are the nodes that are in no
// smaller instance, and the gates of those. One matrix over the vertices of each template suffices
// as long as no way between two gates of an instance is shorter outside of it: then a way between
// two nodes of one instance stays there, and any other leads from gate to gate up to the smallest
// part that holds both, and down again. Building: Dijkstra from each vertex of each template.
// Immutable; a query is O(depth · gates²).
class Hierarchy {
 public:
  // Null when instances of one template have different links, when a way outside is shorter, or
  // when the matrices would have more than `most_entries` entries.
  static std::shared_ptr<const Hierarchy> of(const Topology& topology, const NodeTree& tree);
  static constexpr std::uint64_t most_entries = std::uint64_t{1} << 21;  // 48 MiB

  // Space for queries that follow each other.
  class Scratch {
    friend class Hierarchy;
    std::vector<NodeTree::Step> steps_;
    std::vector<Distance> from_, to_, next_;
  };

  // Shortest, as Dijkstra over the whole machine would have it. `tree` is that of the topology.
  Distance between(const NodeTree& tree, EntityId from, EntityId to, Scratch& scratch) const;
  std::size_t resident_bytes() const;

 private:
  friend class HierarchyBuilder;

  struct Part {
    std::vector<std::uint32_t> gates;         // nodes, from the part's first; ascending
    std::vector<std::uint32_t> gate_vertex;   // [gates]
    std::vector<std::uint32_t> first_vertex;  // [groups]
    std::vector<std::uint32_t> width;         // [groups] vertices of an element
    std::uint32_t vertices = 0;
    std::vector<std::uint8_t> is_end;  // [vertices] see Distances::is_end
    std::vector<Distance> matrix;      // [vertices²] from, to

    const Distance& at(std::uint32_t from, std::uint32_t to) const {
      return matrix[std::size_t{from} * vertices + to];
    }
  };
  // First vertex of the element that a step leads to.
  std::uint32_t vertex_of(const NodeTree::Step& step) const;
  // Puts into `distances` those from a node to the gates of the element that it is in; with
  // `inward` from them to it. A node that is the element is its own gate.
  void find_gates(const NodeTree& tree, const NodeTree::Step& element, EntityId node, bool inward,
                  Scratch& scratch, std::vector<Distance>& distances) const;

  std::vector<Part> parts_;  // by number in the tree
};

// By a hierarchy's distances. Of ports on equally short ways the one of the target's number modulo
// their number, so that neighbouring targets use parallel links evenly. Ports once found are kept
// in a table of fixed size. Not for concurrent use: each rank has its own.
class HierarchyRouting {
 public:
  explicit HierarchyRouting(const Topology& topology);  // kept by reference; has a hierarchy
  // Port towards `target`; here != target.
  unsigned next_port(EntityId here, EntityId target) const;

 private:
  unsigned find_port(EntityId here, EntityId target) const;

  const Topology* topology_;
  Distances measure_;
  mutable KnownPorts known_;
  mutable std::vector<unsigned> ways_;
  mutable Hierarchy::Scratch scratch_;
};

}  // namespace tessera::machine
