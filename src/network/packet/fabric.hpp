// Where a packet goes next: routing and neighbours in one, so that a hop calls nothing virtual on a
// grid.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tessera/core/divisor.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::network {

// Routing and neighbours of a grid, by arithmetic.
class GridFabric {
 public:
  // Without wrapping, a route stays inside the rectangle around its ends.
  static constexpr bool is_straight = true;
  GridFabric(const machine::Topology& topology, const std::string& routing)
      : grid_(*topology.grid()),
        columns_(grid_.columns),
        steps_{~0U, 1, ~grid_.columns + 1, grid_.columns},
        routing_(grid_, routing != "yx") {}
  unsigned next_port(EntityId here, EntityId target) const {
    return routing_.next_port(here, target);
  }
  // Links on which a message goes on through `port`, as far as its steps are the same numbers.
  std::uint32_t straight_on(EntityId here, EntityId target, unsigned port) const {
    if (grid_.wraps) {
      return 1;
    }
    const std::uint32_t row = columns_.quotient(here.value());
    const std::uint32_t row_there = columns_.quotient(target.value());
    const std::uint32_t column = here.value() - row * grid_.columns;
    const std::uint32_t column_there = target.value() - row_there * grid_.columns;
    return port == machine::west || port == machine::east
               ? std::max(column, column_there) - std::min(column, column_there)
               : std::max(row, row_there) - std::min(row, row_there);
  }
  EntityId neighbour(EntityId here, unsigned port) const {
    const std::uint32_t id = here.value();
    const std::uint32_t columns = grid_.columns;
    if (!grid_.wraps) {
      return EntityId(id + steps_[port]);
    }
    const std::uint32_t row = columns_.quotient(id);
    const std::uint32_t column = id - row * columns;
    switch (port) {
      case machine::west:
        return grid_.node(row, column == 0 ? columns - 1 : column - 1);
      case machine::east:
        return grid_.node(row, column + 1 == columns ? 0 : column + 1);
      case machine::north:
        return grid_.node(row == 0 ? grid_.rows - 1 : row - 1, column);
      default:
        return grid_.node(row + 1 == grid_.rows ? 0 : row + 1, column);
    }
  }

 private:
  machine::Grid grid_;
  Divisor columns_;
  // To the neighbour at each port, modulo 2^32: packets turn too often for a branch to be foreseen.
  std::array<std::uint32_t, 4> steps_;
  machine::DimensionOrderRouting routing_;
};

// Any graph: the topology's own links and a routing object.
class GraphFabric {
 public:
  static constexpr bool is_straight = false;
  GraphFabric(const machine::Topology& topology, const std::string& routing)
      : topology_(&topology), routing_(machine::make_routing(routing, topology)) {}
  unsigned next_port(EntityId here, EntityId target) const {
    return routing_->next_port(here, target);
  }
  EntityId neighbour(EntityId here, unsigned port) const { return topology_->link(here, port).to; }
  std::uint32_t straight_on(EntityId, EntityId, unsigned) const { return 1; }

 private:
  const machine::Topology* topology_;
  std::unique_ptr<machine::Routing> routing_;
};

}  // namespace tessera::network
