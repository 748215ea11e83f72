// Replicas one after the other along bands of a grid.
//
// The other layouts of grids put a stage of all replicas into one rectangle, so that what a replica
// sends from stage to stage goes through others. Here a replica keeps together: with bands that
// hold whole replicas, whose tiles fill whole columns, a replica is a rectangle, and routes by rows
// and columns between its tiles never leave it. Replicas meet when they add up their gradients
// alone.

#include <algorithm>

#include "grid_layout.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

// The least height with which a tensor group is no wider than high.
std::uint32_t height_for(std::uint32_t tensor) {
  std::uint32_t height = 1;
  while (std::uint64_t{height} * height < tensor) {
    ++height;
  }
  return height;
}

// Nodes of a field, band by band from the north, each column by column. What is left of the rows
// belongs to the last band.
std::vector<EntityId> along_bands(const Field& field, std::uint32_t height) {
  const std::uint32_t rows = field.grid.rows;
  const std::uint32_t bands = rows / height;
  std::vector<EntityId> nodes;
  nodes.reserve(std::size_t{rows} * field.grid.columns);
  for (std::uint32_t band = 0; band < bands; ++band) {
    const std::uint32_t top = band * height;
    const std::uint32_t end = band + 1 == bands ? rows : top + height;
    for (std::uint32_t column = 0; column < field.grid.columns; ++column) {
      for (std::uint32_t row = top; row < end; ++row) {
        nodes.push_back(field.node(row, column));
      }
    }
  }
  return nodes;
}

Placement place_in_bands(const machine::Machine& machine, const PlacementRequest& request,
                         const TrafficSource&) {
  const Field field = required_field(machine, request, "'replicas' needs");
  const std::uint32_t height =
      request.band.value_or(std::min(height_for(request.degrees.tensor), field.grid.rows));
  if (height > field.grid.rows) {
    throw ConfigError("placement.band: " + std::to_string(height) + " rows, but there are " +
                      std::to_string(field.grid.rows));
  }
  const std::vector<EntityId> nodes = along_bands(field, height);
  const Degrees& degrees = request.degrees;
  ensure(degrees.tiles() <= nodes.size(), "more roles than tiles");
  std::vector<EntityId> tiles(degrees.tiles());
  std::size_t next = 0;
  for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
    for (std::uint32_t stage = 0; stage < degrees.pipeline; ++stage) {
      for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
        tiles[number_of(degrees, {stage, replica, shard})] = nodes[next++];
      }
    }
  }
  return Placement(degrees, std::move(tiles), machine.topology->nodes());
}

const Registration replicas(placements(),
                            {"replicas",
                             "one replica after the other along bands of rows, each kept together",
                             {}},
                            place_in_bands);

}  // namespace
}  // namespace tessera::plan
