// Replicas one after the other along bands of a grid.
//
// The other layouts of grids put a stage of all replicas into one rectangle, so that what a replica
// sends from stage to stage goes through others. Here a replica keeps together: with bands that
// hold whole replicas, whose tiles fill whole columns, a replica is a rectangle, and routes by rows
// and columns between its tiles never leave it. Replicas meet when they add up their gradients
// alone.

#include <algorithm>
#include <numeric>

#include "placement/grid_layout.hpp"
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

// Places of replicas around a ring, [replicas], in the order of their numbers.
std::vector<std::uint32_t> around_ring(const Field& field, std::uint32_t height,
                                       const Degrees& degrees) {
  const std::uint64_t tiles = std::uint64_t{degrees.pipeline} * degrees.tensor;
  const std::uint64_t of_band = std::uint64_t{height} * field.grid.columns;
  const auto columns = static_cast<std::uint32_t>(of_band / tiles);
  const std::uint32_t bands = columns == 0 ? 0 : degrees.data / columns;
  const bool rectangles = tiles % height == 0 && of_band % tiles == 0;
  if (!rectangles || degrees.data % columns != 0 || bands * height > field.grid.rows ||
      (bands == field.grid.rows / height && field.grid.rows % height != 0)) {
    throw ConfigError(
        "placement.replica_order: a ring wants bands that hold whole replicas, all "
        "equally many; " +
        std::to_string(degrees.data) + " replicas of " + std::to_string(tiles) +
        " tiles in bands of " + std::to_string(height) + " of " + std::to_string(field.grid.rows) +
        " rows and " + std::to_string(field.grid.columns) + " columns do not lie so");
  }
  std::vector<std::uint32_t> places;
  places.reserve(degrees.data);
  for (const auto& [band, column] : ring_order(bands, columns)) {
    places.push_back(band * columns + column);
  }
  return places;
}

// Places of replicas along the bands, [replicas], in the order of their numbers. Where the last
// band is higher, its replicas are the last, from the east.
std::vector<std::uint32_t> numbering(const Field& field, std::uint32_t height,
                                     const PlacementRequest& request) {
  if (request.replica_order == ReplicaOrder::ring) {
    return around_ring(field, height, request.degrees);
  }
  std::vector<std::uint32_t> places(request.degrees.data);
  std::iota(places.begin(), places.end(), 0U);
  if (request.replica_order == ReplicaOrder::rows) {
    return places;
  }
  const std::uint64_t tiles = std::uint64_t{request.degrees.pipeline} * request.degrees.tensor;
  const std::uint64_t of_band = std::uint64_t{height} * field.grid.columns;
  const std::uint64_t low_bands =
      field.grid.rows / height - (field.grid.rows % height == 0 ? 0 : 1);
  const auto columns = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, of_band / tiles));
  // Of a replica: the column of replicas that its middle is in, and where in it.
  const auto rank_of = [&](std::uint32_t place) {
    const std::uint64_t middle = place * tiles + tiles / 2;
    const std::uint64_t band = middle / of_band;
    if (band >= low_bands) {
      return std::pair<std::uint64_t, std::int64_t>{columns, -std::int64_t{place}};
    }
    const std::uint64_t column = middle % of_band * columns / of_band;
    const auto down = static_cast<std::int64_t>(band);
    return std::pair<std::uint64_t, std::int64_t>{column, column % 2 == 0 ? down : -down};
  };
  std::ranges::stable_sort(places, {}, rank_of);
  return places;
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
  const std::vector<std::uint32_t> places = numbering(field, height, request);
  for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
    std::size_t next = std::size_t{places[replica]} * degrees.pipeline * degrees.tensor;
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
                             "one replica after another along bands of rows, each kept together",
                             {}},
                            place_in_bands);

}  // namespace
}  // namespace tessera::plan
