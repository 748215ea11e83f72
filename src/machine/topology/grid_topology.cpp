#include "topology/grid_topology.hpp"

#include <utility>

namespace tessera::machine {
namespace {

std::string pair_text(std::uint32_t row, std::uint32_t column) {
  return "(" + std::to_string(row) + "," + std::to_string(column) + ")";
}

}  // namespace

GridTopology::GridTopology(Grid grid, std::vector<LinkClass> classes) : grid_(grid) {
  classes_ = std::move(classes);
}

std::uint32_t GridTopology::neighbour(std::uint32_t at, std::uint32_t size, bool upward) const {
  const std::uint32_t last = size - 1;
  if (at != (upward ? last : 0)) {
    return upward ? at + 1 : at - 1;
  }
  const bool ring = grid_.wraps && size > 1;
  return ring ? last - at : beyond;
}

Link GridTopology::link(EntityId node, unsigned port) const {
  const std::uint32_t row = grid_.row_of(node);
  const std::uint32_t column = grid_.column_of(node);
  const bool upward = port == east || port == south;
  const bool along_row = port == west || port == east;
  const std::uint32_t from = along_row ? column : row;
  const std::uint32_t to = neighbour(from, along_row ? grid_.columns : grid_.rows, upward);
  if (to == beyond) {
    return {};
  }
  const std::uint32_t block = along_row ? grid_.block_columns : grid_.block_rows;
  const bool between_blocks = two_level() && from / block != to / block;
  return {along_row ? grid_.node(row, to) : grid_.node(to, column),
          static_cast<std::uint16_t>(between_blocks ? 1 : 0)};
}

Position GridTopology::position(EntityId node) const {
  return {static_cast<double>(grid_.column_of(node)), static_cast<double>(grid_.row_of(node))};
}

std::string GridTopology::node_name(EntityId node) const {
  const std::uint32_t row = grid_.row_of(node);
  const std::uint32_t column = grid_.column_of(node);
  if (!two_level()) {
    return "tile " + pair_text(row, column);
  }
  return "core " + pair_text(row % grid_.block_rows, column % grid_.block_columns) + " of tile " +
         pair_text(row / grid_.block_rows, column / grid_.block_columns);
}

SimTime GridTopology::smallest_latency() const {
  const auto is_inside = [](std::uint32_t size, std::uint32_t block) {
    return size > 1 && block > 1;
  };
  const bool inside =
      is_inside(grid_.rows, grid_.block_rows) || is_inside(grid_.columns, grid_.block_columns);
  const bool between = grid_.rows > grid_.block_rows || grid_.columns > grid_.block_columns;
  return smallest_latency_of(two_level() ? std::vector<bool>{inside, between}
                                         : std::vector<bool>{inside || between});
}

std::uint64_t GridTopology::links() const {
  const auto along = [&](std::uint64_t size) {
    return grid_.wraps && size > 1 ? 2 * size : 2 * (size - 1);
  };
  return grid_.rows * along(grid_.columns) + grid_.columns * along(grid_.rows);
}

std::size_t GridTopology::resident_bytes() const {
  return Topology::resident_bytes() - sizeof(Topology) + sizeof(*this);
}

}  // namespace tessera::machine
