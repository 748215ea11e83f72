#include "tessera/plan/placement.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

using Shape = std::array<std::uint32_t, 2>;  // rows, columns
using Cell = std::pair<std::uint32_t, std::uint32_t>;

std::string text_of(const Shape& shape) {
  return std::to_string(shape[0]) + " x " + std::to_string(shape[1]);
}

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

Placement place_on_grid(const machine::Topology& topology, const PlacementRequest& request,
                        bool snake) {
  const std::optional<machine::Grid> grid = topology.grid();
  if (!grid) {
    throw ConfigError(
        "placement.layout: 'line' and 's-shape' need a mesh, torus or wafer; use "
        "'linear'");
  }
  const Degrees& degrees = request.degrees;
  const Shape group = group_shape(*grid, request);
  const Shape tensor = tensor_shape(group, request);
  const auto replicas = ring_order(group[0] / tensor[0], group[1] / tensor[1]);
  const auto shards = ring_order(tensor[0], tensor[1]);
  std::vector<EntityId> tiles;
  tiles.reserve(degrees.tiles());
  for (const Cell& corner : group_corners(*grid, group, degrees.pipeline, snake)) {
    for (const Cell& replica : replicas) {
      for (const Cell& shard : shards) {
        tiles.push_back(grid->node(corner.first + replica.first * tensor[0] + shard.first,
                                   corner.second + replica.second * tensor[1] + shard.second));
      }
    }
  }
  return Placement(degrees, std::move(tiles), topology.nodes());
}

Placement place_linear(const machine::Topology& topology, const PlacementRequest& request) {
  std::vector<EntityId> tiles;
  const std::uint64_t wanted = request.degrees.tiles();
  for (std::uint32_t node = 0; node < topology.nodes() && tiles.size() < wanted; ++node) {
    if (topology.computes(EntityId(node))) {
      tiles.emplace_back(node);
    }
  }
  if (tiles.size() < wanted) {
    throw ConfigError("pipeline * data * tensor = " + std::to_string(wanted) +
                      " tiles, but the machine has " + std::to_string(tiles.size()));
  }
  return Placement(request.degrees, std::move(tiles), topology.nodes());
}

// A Hamiltonian cycle for an even number of rows (at least two) and at least two columns: rows
// back and forth beside the first column, which leads back up. With an odd number of rows the last
// two are taken column by column, which leaves one step of two hops at the end.
std::vector<Cell> cycle(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Cell> order;
  const std::uint32_t plain = rows % 2 == 0 ? rows : rows - 2;
  for (std::uint32_t row = 0; row < plain; ++row) {
    for (std::uint32_t i = row == 0 ? 0 : 1; i < columns; ++i) {
      order.emplace_back(row, row % 2 == 0 ? i : columns - i);
    }
  }
  if (plain < rows) {
    for (std::uint32_t column = columns - 1; column > 0; --column) {
      const bool first_up = (columns - 1 - column) % 2 == 0;
      order.emplace_back(first_up ? rows - 2 : rows - 1, column);
      order.emplace_back(first_up ? rows - 1 : rows - 2, column);
    }
  }
  for (std::uint32_t row = rows - 1; row > 0; --row) {
    order.emplace_back(row, 0);
  }
  return order;
}

const Registration line(placements(),
                        {"line", "stages down one column of tile groups after the other", {}},
                        [](const machine::Topology& topology, const PlacementRequest& request) {
                          return place_on_grid(topology, request, false);
                        });
const Registration s_shape(placements(),
                           {"s-shape",
                            "down one column of tile groups and up the next (the default on grids)",
                            {}},
                           [](const machine::Topology& topology, const PlacementRequest& request) {
                             return place_on_grid(topology, request, true);
                           });
const Registration linear(placements(),
                          {"linear", "roles on computing nodes in number order, any topology", {}},
                          place_linear);

}  // namespace

Registry<Placer>& placements() {
  static Registry<Placer> registry("layout");
  return registry;
}

Placement::Placement(const Degrees& degrees, std::vector<EntityId> tiles, std::uint32_t nodes)
    : degrees_(degrees), tiles_(std::move(tiles)), role_of_(nodes, unused) {
  ensure(tiles_.size() == degrees_.tiles(), "a tile for each role");
  for (std::uint32_t number = 0; number < tiles_.size(); ++number) {
    std::uint32_t& role = role_of_[tiles_[number].value()];
    ensure(role == unused, "a tile plays one role");
    role = number;
  }
}

std::size_t Placement::resident_bytes() const {
  return tiles_.capacity() * sizeof(EntityId) + role_of_.capacity() * sizeof(std::uint32_t);
}

std::vector<Cell> ring_order(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Cell> order;
  if (rows == 1 || columns == 1) {
    const std::uint32_t length = rows * columns;
    const auto cell = [&](std::uint32_t i) { return rows == 1 ? Cell{0, i} : Cell{i, 0}; };
    for (std::uint32_t i = 0; i < length; i += 2) {
      order.push_back(cell(i));
    }
    for (std::uint32_t i = length - length % 2; i > 0; i -= 2) {
      order.push_back(cell(i - 1));
    }
    return order;
  }
  if (rows % 2 == 0 || columns % 2 == 1) {
    return cycle(rows, columns);
  }
  for (const Cell& transposed : cycle(columns, rows)) {
    order.emplace_back(transposed.second, transposed.first);
  }
  return order;
}

}  // namespace tessera::plan
