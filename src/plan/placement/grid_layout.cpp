#include "placement/grid_layout.hpp"

#include <algorithm>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

// Rectangles of `tiles` cells for which `fits` holds, the squarest first (the wider on a tie).
template <class Fits>
std::optional<Shape> squarest(std::uint64_t tiles, Fits fits) {
  std::optional<Shape> best;
  std::uint64_t best_perimeter = 0;
  for (std::uint64_t rows = 1; rows <= tiles; ++rows) {
    if (tiles % rows != 0 || tiles / rows > 0xFFFFFFFFULL) {
      continue;
    }
    const Shape shape{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(tiles / rows)};
    const std::uint64_t perimeter = std::uint64_t{shape[0]} + shape[1];
    if (fits(shape) && (!best || perimeter < best_perimeter)) {
      best = shape;
      best_perimeter = perimeter;
    }
  }
  return best;
}

bool holds_stages(const machine::Grid& grid, const Shape& group, std::uint32_t stages) {
  return std::uint64_t{grid.rows / group[0]} * (grid.columns / group[1]) >= stages;
}

Shape group_shape(const machine::Grid& grid, const PlacementRequest& request) {
  const Degrees& degrees = request.degrees;
  const std::uint64_t tiles = std::uint64_t{degrees.data} * degrees.tensor;
  if (request.group) {
    const Shape& shape = *request.group;
    if (std::uint64_t{shape[0]} * shape[1] != tiles) {
      throw ConfigError("placement.group: " + text_of(shape) + " tiles, but a stage has data * " +
                        "tensor = " + std::to_string(tiles));
    }
    if (!holds_stages(grid, shape, degrees.pipeline)) {
      throw ConfigError("placement.group: " + std::to_string(degrees.pipeline) + " groups of " +
                        text_of(shape) + " do not fit a grid of " +
                        text_of({grid.rows, grid.columns}));
    }
    return shape;
  }
  if (std::uint64_t{grid.block_rows} * grid.block_columns == tiles &&
      holds_stages(grid, {grid.block_rows, grid.block_columns}, degrees.pipeline)) {
    return {grid.block_rows, grid.block_columns};
  }
  const auto shape = squarest(tiles, [&](const Shape& candidate) {
    return holds_stages(grid, candidate, degrees.pipeline);
  });
  if (!shape) {
    throw ConfigError(std::to_string(degrees.pipeline) + " stages of " + std::to_string(tiles) +
                      " tiles (data * tensor) do not fit a grid of " +
                      text_of({grid.rows, grid.columns}) +
                      " as equal rectangles; change the degrees or use layout 'linear'");
  }
  return *shape;
}

Shape tensor_shape(const Shape& group, const PlacementRequest& request) {
  const std::uint32_t tensor = request.degrees.tensor;
  const auto divides = [&](const Shape& shape) {
    return group[0] % shape[0] == 0 && group[1] % shape[1] == 0;
  };
  if (request.tensor_group) {
    const Shape& shape = *request.tensor_group;
    if (std::uint64_t{shape[0]} * shape[1] != tensor || !divides(shape)) {
      throw ConfigError("placement.tensor_group: " + text_of(shape) +
                        " must hold tensor = " + std::to_string(tensor) +
                        " tiles and divide the group of " + text_of(group));
    }
    return shape;
  }
  const auto shape = squarest(tensor, divides);
  if (!shape) {
    throw ConfigError("tensor: no rectangle of " + std::to_string(tensor) +
                      " tiles divides a group of " + text_of(group) +
                      "; give placement.group another shape");
  }
  return *shape;
}

// Distance of one group from the next: on a two-level machine with a tile for each stage, groups
// that fit a tile do not straddle two.
Shape group_pitch(const machine::Grid& grid, const Shape& group, std::uint32_t stages) {
  const Shape tile{grid.block_rows, grid.block_columns};
  const bool fits = group[0] <= tile[0] && group[1] <= tile[1] && holds_stages(grid, tile, stages);
  return fits ? tile : group;
}

// Top left cell of each stage's group, for groups in columns; every other column upwards if
// `snake`.
std::vector<Cell> group_corners(const machine::Grid& grid, const Shape& group, std::uint32_t stages,
                                bool snake) {
  const Shape pitch = group_pitch(grid, group, stages);
  const std::uint32_t down = grid.rows / pitch[0];
  std::vector<Cell> corners;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const std::uint32_t column = stage / down;
    const std::uint32_t place = stage % down;
    const std::uint32_t row = snake && column % 2 == 1 ? down - 1 - place : place;
    corners.emplace_back(row * pitch[0], column * pitch[1]);
  }
  return corners;
}

// A tensor group in a rectangle of its own, one after the other around a ring.
std::vector<Cell> near_cells(const Shape& group, const Shape& tensor) {
  std::vector<Cell> cells;
  for (const Cell& replica : ring_order(group[0] / tensor[0], group[1] / tensor[1])) {
    for (const Cell& shard : ring_order(tensor[0], tensor[1])) {
      cells.emplace_back(replica.first * tensor[0] + shard.first,
                         replica.second * tensor[1] + shard.second);
    }
  }
  return cells;
}

// The rectangle in `tensor` equal parts; a tensor group has the same cell of each.
std::vector<Cell> far_cells(const Shape& group, const Shape& tensor) {
  const Shape part{group[0] / tensor[0], group[1] / tensor[1]};
  std::vector<Cell> cells;
  for (const Cell& replica : ring_order(part[0], part[1])) {
    for (const Cell& shard : ring_order(tensor[0], tensor[1])) {
      cells.emplace_back(shard.first * part[0] + replica.first,
                         shard.second * part[1] + replica.second);
    }
  }
  return cells;
}

Placement place_on_grid(const machine::Machine& machine, const PlacementRequest& request,
                        bool snake) {
  const Field field = required_field(machine, request, "'line' and 's-shape' need");
  return Placement(request.degrees, lay_out(field, request, snake), machine.topology->nodes());
}

const Registration line(placements(),
                        {"line", "stages down one column of tile groups after another", {}},
                        [](const machine::Machine& machine, const PlacementRequest& request,
                           const TrafficSource&) {
                          return place_on_grid(machine, request, false);
                        });
const Registration s_shape(
    placements(),
    {"s-shape", "stages down one column of tile groups and up the next (the default on grids)", {}},
    [](const machine::Machine& machine, const PlacementRequest& request, const TrafficSource&) {
      return place_on_grid(machine, request, true);
    });

}  // namespace

std::optional<Field> field_of(const machine::Topology& topology,
                              const std::vector<EntityId>& nodes) {
  const std::optional<machine::Grid> grid = topology.grid();
  if (!grid || nodes.empty()) {
    return grid ? std::optional(Field{*grid, {0, 0}, *grid}) : std::nullopt;
  }
  Cell low{grid->rows, grid->columns};
  Cell high{0, 0};
  for (const EntityId node : nodes) {
    const Cell cell{grid->row_of(node), grid->column_of(node)};
    low = {std::min(low.first, cell.first), std::min(low.second, cell.second)};
    high = {std::max(high.first, cell.first), std::max(high.second, cell.second)};
  }
  Field field{*grid, low, *grid};
  field.grid.rows = high.first - low.first + 1;
  field.grid.columns = high.second - low.second + 1;
  if (std::uint64_t{field.grid.rows} * field.grid.columns != nodes.size()) {
    return std::nullopt;
  }
  const auto is_whole = [](std::uint32_t from, std::uint32_t size, std::uint32_t block) {
    return from % block == 0 && size % block == 0;
  };
  if (!is_whole(low.first, field.grid.rows, grid->block_rows) ||
      !is_whole(low.second, field.grid.columns, grid->block_columns)) {
    field.grid.block_rows = 1;
    field.grid.block_columns = 1;
  }
  return field;
}

Field required_field(const machine::Machine& machine, const PlacementRequest& request,
                     const std::string& who) {
  const std::optional<Field> field = field_of(*machine.topology, request.nodes);
  if (!field) {
    throw ConfigError(
        "placement.layout: " + who + " a mesh, torus or wafer" +
        std::string(request.nodes.empty() ? "" : ", and tiles that are a rectangle of it") +
        "; use 'linear'");
  }
  return *field;
}

std::string text_of(const Shape& shape) {
  return std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
}

std::vector<Cell> stage_cells(const Shape& group, const PlacementRequest& request) {
  const Shape tensor = tensor_shape(group, request);
  return request.tensor_members == TensorMembers::near ? near_cells(group, tensor)
                                                       : far_cells(group, tensor);
}

std::vector<EntityId> lay_out(const Field& field, const PlacementRequest& request, bool snake) {
  const machine::Grid& grid = field.grid;
  const Shape group = group_shape(grid, request);
  const std::vector<Cell> cells = stage_cells(group, request);
  std::vector<EntityId> tiles;
  tiles.reserve(request.degrees.tiles());
  for (const Cell& corner : group_corners(grid, group, request.degrees.pipeline, snake)) {
    for (const Cell& cell : cells) {
      tiles.push_back(field.node(corner.first + cell.first, corner.second + cell.second));
    }
  }
  return tiles;
}

}  // namespace tessera::plan
