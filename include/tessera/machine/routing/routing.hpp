// Which way a packet goes. Deterministic: one path for each pair of nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/core/divisor.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Dimension-order routing on a grid: first along the row (xy) or first along the column (yx). On a
// torus the shorter way round, the positive direction (east, south) on a tie. Deadlock is no
// concern at this level: buffers are unbounded.
class DimensionOrderRouting {
 public:
  DimensionOrderRouting(const Grid& grid, bool rows_first);  // rows_first: xy
  // Port towards `target`; here != target.
  unsigned next_port(EntityId here, EntityId target) const {
    const std::uint32_t here_row = columns_.quotient(here.value());
    const std::uint32_t here_column = here.value() - here_row * grid_.columns;
    const std::uint32_t row = columns_.quotient(target.value());
    const std::uint32_t column = target.value() - row * grid_.columns;
    const bool along_row = here_column != column && (rows_first_ || here_row == row);
    return along_row ? step(here_column, column, grid_.columns, west, east)
                     : step(here_row, row, grid_.rows, north, south);
  }

 private:
  unsigned step(std::uint32_t from, std::uint32_t to, std::uint32_t size, unsigned down,
                unsigned up) const {
    if (!grid_.wraps) {
      return to > from ? up : down;
    }
    const std::uint32_t upward = to > from ? to - from : to + size - from;
    return upward <= size - upward ? up : down;
  }

  Grid grid_;
  Divisor columns_;
  bool rows_first_;
};

class Distances;
class ReverseLinks;

// Shortest by the topology's RouteRule; ties: least latency, fewer hops, then at every node the
// neighbour at the lowest port, over one of the equal links to it by the target's number or, with
// `spread`, any port by a hash of node and target (as equal-cost multi-path does by flow, C. Hopps,
// RFC 2992), so that targets share parallel ways. One column of ports for each target, computed
// (Dijkstra from the target, O(links log nodes)) when the first packet needs it and kept:
// bit_width(ports) bits a node. Not for concurrent use: each rank has its own.
class ShortestPathRouting {
 public:
  explicit ShortestPathRouting(const Topology& topology, bool spread = false);  // kept by reference
  // Port towards `target`; here != target. Throws ModelError when `target` cannot be reached.
  unsigned next_port(EntityId here, EntityId target) const;

 private:
  using Column = std::vector<std::uint64_t>;
  const Column& column_for(EntityId target) const;
  Column make_column(EntityId target) const;

  const Topology* topology_;
  bool spread_;
  std::shared_ptr<const Distances> measure_;
  std::shared_ptr<const ReverseLinks> reverse_;
  std::vector<std::uint64_t> first_bit_;  // [nodes + 1] place of a node's port in a column
  mutable std::vector<Column> columns_;   // by target; empty: not yet needed
};

// Behind one interface, for everything that is not the innermost loop.
class Routing {
 public:
  virtual ~Routing() = default;
  virtual unsigned next_port(EntityId here, EntityId target) const = 0;
};

// "xy", "yx" (grids only), "cluster" (clusters only, see ClusterRouting), "stack" (stacks
// only, see StackRouting), "hierarchy" (graphs of templates, see HierarchyRouting), "given" (graphs
// with routes of their own), "ecmp" (shortest and spread) or "shortest".
std::vector<std::string> routing_names();
// Why the topology cannot use the routing of this name, with one that it can; empty when it can.
std::string routing_problem(const std::string& name, const Topology& topology);
// Throws ConfigError for a name that the topology cannot use.
std::unique_ptr<Routing> make_routing(const std::string& name, const Topology& topology);

// What a packet meets on its way.
struct Path {
  std::uint32_t hops = 0;
  SimTime latency;                    // sum over the links
  Bandwidth bottleneck;               // smallest on the way; largest value when there are no hops
  SimTime longest = SimTime::zero();  // latency of one link
};

// A link on the way: where it starts.
struct Hop {
  EntityId node;
  unsigned port = 0;
  friend auto operator<=>(const Hop&, const Hop&) = default;
};

// The links from `from` to `to`. As path_between.
std::vector<Hop> hops_between(const Topology& topology, const Routing& routing, EntityId from,
                              EntityId to);

// Why a walk ended before its target. Throws ModelError.
[[noreturn]] void refuse_route(const Topology& topology, EntityId from, EntityId to, bool is_loop);

// Calls visit(node, port, link) for each link from `from` to `to`. As path_between.
template <class Visit>
void walk_route(const Topology& topology, const Routing& routing, EntityId from, EntityId to,
                const Visit& visit) {
  std::uint32_t hops = 0;
  for (EntityId here = from; here != to; ++hops) {
    const unsigned port = routing.next_port(here, to);
    const Link link = topology.link(here, port);
    if (!link.to.valid() || hops >= topology.nodes()) {
      refuse_route(topology, from, to, link.to.valid());
    }
    visit(here, port, link);
    here = link.to;
  }
}

// Walks the route. O(hops). Throws ModelError when the route leads off the machine or visits more
// links than there are nodes, which makes it a loop.
Path path_between(const Topology& topology, const Routing& routing, EntityId from, EntityId to);
// The same, with its links in `hops`.
Path path_between(const Topology& topology, const Routing& routing, EntityId from, EntityId to,
                  std::vector<Hop>& hops);

}  // namespace tessera::machine
