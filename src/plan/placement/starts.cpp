#include "placement/starts.hpp"

#include <algorithm>

#include "placement/grid_layout.hpp"
#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

std::vector<std::uint32_t> divisors(std::uint32_t number, std::uint32_t most) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t divisor = 1; divisor <= std::min(number, most); ++divisor) {
    if (number % divisor == 0) {
      result.push_back(divisor);
    }
  }
  return result;
}

// Back and forth through bands of `width` rows, and up and down inside them.
std::vector<Cell> band_path(const Shape& size, std::uint32_t width) {
  std::vector<Cell> path;
  for (std::uint32_t top = 0; top < size[0]; top += width) {
    const std::uint32_t height = std::min(width, size[0] - top);
    for (std::uint32_t i = 0; i < size[1]; ++i) {
      const std::uint32_t column = top / width % 2 == 0 ? i : size[1] - 1 - i;
      for (std::uint32_t j = 0; j < height; ++j) {
        path.emplace_back(top + (i % 2 == 0 ? j : height - 1 - j), column);
      }
    }
  }
  return path;
}

// Where the cells of one stage are a rectangle, puts them into the order of a ring.
void close_ring(std::vector<Cell>::iterator begin, std::vector<Cell>::iterator end) {
  Cell low = *begin;
  Cell high = *begin;
  for (auto cell = begin; cell != end; ++cell) {
    low = {std::min(low.first, cell->first), std::min(low.second, cell->second)};
    high = {std::max(high.first, cell->first), std::max(high.second, cell->second)};
  }
  const std::uint32_t rows = high.first - low.first + 1;
  const std::uint32_t columns = high.second - low.second + 1;
  if (std::uint64_t{rows} * columns != static_cast<std::uint64_t>(end - begin)) {
    return;
  }
  for (const Cell& cell : ring_order(rows, columns)) {
    *begin++ = {low.first + cell.first, low.second + cell.second};
  }
}

// One node of each role where the grid is cut into tensor groups of one shape.
std::vector<EntityId> band_tiles(const Field& field, const Degrees& degrees, const Shape& tensor,
                                 std::vector<Cell> path) {
  const std::vector<Cell> shards = ring_order(tensor[0], tensor[1]);
  std::vector<EntityId> tiles;
  tiles.reserve(degrees.tiles());
  for (std::uint32_t stage = 0; stage < degrees.pipeline; ++stage) {
    const auto begin = path.begin() + std::int64_t{stage} * degrees.data;
    close_ring(begin, begin + degrees.data);
    for (auto group = begin; group != begin + degrees.data; ++group) {
      for (const Cell& shard : shards) {
        tiles.push_back(field.node(group->first * tensor[0] + shard.first,
                                   group->second * tensor[1] + shard.second));
      }
    }
  }
  return tiles;
}

void visit_bands(const Field& field, const Degrees& degrees,
                 const std::function<void(const std::vector<EntityId>&)>& visit) {
  const machine::Grid& grid = field.grid;
  for (const std::uint32_t rows : divisors(degrees.tensor, grid.rows)) {
    const Shape tensor{rows, degrees.tensor / rows};
    const Shape slots{grid.rows / tensor[0], grid.columns / tensor[1]};
    if (std::uint64_t{slots[0]} * slots[1] < std::uint64_t{degrees.pipeline} * degrees.data) {
      continue;
    }
    for (const std::uint32_t width : divisors(degrees.data, slots[0])) {
      visit(band_tiles(field, degrees, tensor, band_path(slots, width)));
    }
    for (const std::uint32_t width : divisors(degrees.data, slots[1])) {
      std::vector<Cell> path = band_path({slots[1], slots[0]}, width);
      for (Cell& cell : path) {
        std::swap(cell.first, cell.second);
      }
      visit(band_tiles(field, degrees, tensor, std::move(path)));
    }
  }
}

// The layout with each of its orders.
std::vector<PlacementRequest> variants_of(const std::string& layout,
                                          const PlacementRequest& request) {
  std::vector<PlacementRequest> all;
  if (layout == "replicas") {
    for (const ReplicaOrder order :
         {ReplicaOrder::rows, ReplicaOrder::columns, ReplicaOrder::ring}) {
      all.push_back(request);
      all.back().replica_order = order;
    }
    return all;
  }
  for (const TensorMembers members : {TensorMembers::near, TensorMembers::far}) {
    all.push_back(request);
    all.back().tensor_members = members;
  }
  return all;
}

}  // namespace

std::vector<std::string> start_names() {
  return {"best", "line", "linear", "replicas", "s-shape"};
}

std::vector<std::vector<EntityId>> named_starts(const machine::Machine& machine,
                                                const PlacementRequest& request) {
  const std::string& start = request.optimization.start;
  std::vector<std::vector<EntityId>> found;
  for (const std::string& name : start_names()) {
    if (name == "best" || (start != "best" && start != name)) {
      continue;
    }
    for (const PlacementRequest& asked : variants_of(name, request)) {
      try {
        std::vector<EntityId> tiles =
            placements().at(name)(machine, asked, TrafficSource()).tiles();
        if (std::find(found.begin(), found.end(), tiles) == found.end()) {
          found.push_back(std::move(tiles));
        }
      } catch (const ConfigError&) {
        continue;  // it does not fit here
      }
    }
  }
  return found;
}

void visit_starts(const machine::Machine& machine, const PlacementRequest& request,
                  const std::function<void(const std::vector<EntityId>&)>& visit) {
  const auto layout = [&](const std::string& name, const PlacementRequest& asked) {
    visit(placements().at(name)(machine, asked, TrafficSource()).tiles());
  };
  if (request.optimization.start != "best") {
    layout(request.optimization.start, request);
    return;
  }
  layout("linear", request);
  const std::optional<Field> field = field_of(*machine.topology, request.nodes);
  if (!field) {
    return;
  }
  for (const TensorMembers members : {TensorMembers::near, TensorMembers::far}) {
    PlacementRequest asked = request;
    asked.tensor_members = members;
    try {
      layout("line", asked);
      layout("s-shape", asked);
    } catch (const ConfigError&) {
      // Rectangles of equal shape do not fit; tensor groups along a path may.
    }
  }
  visit_bands(*field, request.degrees, visit);
  for (const PlacementRequest& asked : variants_of("replicas", request)) {
    try {
      layout("replicas", asked);
    } catch (const ConfigError&) {
      continue;  // this order does not fit
    }
  }
}

}  // namespace tessera::plan
