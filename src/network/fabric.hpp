// Where a packet goes next: routing and neighbours in one, so that a hop calls nothing virtual on a
// grid.
#pragma once

#include <memory>
#include <string>

#include "tessera/machine/routing.hpp"
#include "tessera/machine/topology.hpp"

namespace tessera::network {

// Routing and neighbours of a grid, by arithmetic.
class GridFabric {
 public:
  GridFabric(const machine::Topology& topology, const std::string& routing)
      : grid_(*topology.grid()), routing_(grid_, routing != "yx") {}
  unsigned next_port(EntityId here, EntityId target) const {
    return routing_.next_port(here, target);
  }
  EntityId neighbour(EntityId here, unsigned port) const {
    const std::uint32_t id = here.value();
    const std::uint32_t columns = grid_.columns;
    if (!grid_.wraps) {
      switch (port) {
        case machine::west:
          return EntityId(id - 1);
        case machine::east:
          return EntityId(id + 1);
        case machine::north:
          return EntityId(id - columns);
        default:
          return EntityId(id + columns);
      }
    }
    const std::uint32_t row = grid_.row_of(here);
    const std::uint32_t column = grid_.column_of(here);
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
  machine::DimensionOrderRouting routing_;
};

// Any graph: the topology's own links and a routing object.
class GraphFabric {
 public:
  GraphFabric(const machine::Topology& topology, const std::string& routing)
      : topology_(&topology), routing_(machine::make_routing(routing, topology)) {}
  unsigned next_port(EntityId here, EntityId target) const {
    return routing_->next_port(here, target);
  }
  EntityId neighbour(EntityId here, unsigned port) const { return topology_->link(here, port).to; }

 private:
  const machine::Topology* topology_;
  std::unique_ptr<machine::Routing> routing_;
};

}  // namespace tessera::network
