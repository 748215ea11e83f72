// Blocks: near-square rectangles of a grid.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// Rows top … bottom-1, columns left … right-1.
struct Rectangle {
  std::uint32_t top = 0;
  std::uint32_t bottom = 0;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint64_t rows() const { return bottom - top; }
  std::uint64_t columns() const { return right - left; }
  std::uint64_t area() const { return rows() * columns(); }
};

// Load of any rectangle in O(1), by a summed-area table when there are weights.
class Loads {
 public:
  Loads(const Grid& grid, const Weights& weights) : stride_(std::size_t{grid.columns} + 1) {
    if (weights.empty()) {
      return;
    }
    sums_.resize((std::size_t{grid.rows} + 1) * stride_);
    for (std::uint32_t row = 0; row < grid.rows; ++row) {
      for (std::uint32_t column = 0; column < grid.columns; ++column) {
        sums_[at(row + 1, column + 1)] = sums_[at(row, column + 1)] + sums_[at(row + 1, column)] -
                                         sums_[at(row, column)] +
                                         weights[grid.node(row, column).value()];
      }
    }
  }
  std::uint64_t of(const Rectangle& part) const {
    return sums_.empty() ? part.area()
                         : sums_[at(part.bottom, part.right)] - sums_[at(part.top, part.right)] -
                               sums_[at(part.bottom, part.left)] + sums_[at(part.top, part.left)];
  }

 private:
  std::size_t at(std::uint32_t row, std::uint32_t column) const { return row * stride_ + column; }
  std::size_t stride_;
  std::vector<std::uint64_t> sums_;  // [rows + 1][columns + 1] of all nodes above and to the left
};

// Directed links that leave the rectangle for another one.
std::uint64_t cut_links(const Rectangle& part, const Grid& grid) {
  const auto sides = [&](std::uint32_t low, std::uint32_t high, std::uint32_t size) {
    const bool whole = low == 0 && high == size;
    const bool around = grid.wraps && !whole;
    return std::uint64_t{low > 0 || around ? 1U : 0U} + (high < size || around ? 1U : 0U);
  };
  return sides(part.left, part.right, grid.columns) * part.rows() +
         sides(part.top, part.bottom, grid.rows) * part.columns();
}

// The grid cut straight through: `down` × `across` rectangles.
std::vector<Rectangle> product(const Grid& grid, const Loads& loads, std::uint32_t down,
                               std::uint32_t across) {
  std::vector<std::uint64_t> row_loads;
  for (std::uint32_t row = 0; row < grid.rows; ++row) {
    row_loads.push_back(loads.of({row, row + 1, 0, grid.columns}));
  }
  std::vector<std::uint64_t> column_loads;
  for (std::uint32_t column = 0; column < grid.columns; ++column) {
    column_loads.push_back(loads.of({0, grid.rows, column, column + 1}));
  }
  const auto rows = even_cuts(row_loads, down);
  const auto columns = even_cuts(column_loads, across);
  std::vector<Rectangle> parts;
  for (std::uint32_t y = 0; y < down; ++y) {
    for (std::uint32_t x = 0; x < across; ++x) {
      parts.push_back({rows[y], rows[y + 1], columns[x], columns[x + 1]});
    }
  }
  return parts;
}

// One cut of a rectangle for `ranks` in two, the first for `first_ranks` of them.
struct Halves {
  Rectangle first;
  Rectangle second;
  std::uint64_t first_ranks = 0;
  double heaviest = 0;  // load per rank of the heavier half
  std::int64_t off_middle = 0;
};

// Cuts the first half off `at` lines into the longer side; each rank keeps at least one node.
Halves cut_at(const Rectangle& whole, const Loads& loads, std::uint64_t ranks, std::uint32_t at) {
  Halves halves{.first = whole, .second = whole};
  const bool by_columns = whole.columns() >= whole.rows();
  if (by_columns) {
    halves.first.right = halves.second.left = whole.left + at;
  } else {
    halves.first.bottom = halves.second.top = whole.top + at;
  }
  const auto first_load = static_cast<double>(loads.of(halves.first));
  const auto second_load = static_cast<double>(loads.of(halves.second));
  const double share = first_load / std::max(1.0, first_load + second_load);
  const auto wanted = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(ranks)));
  const std::uint64_t second_area = halves.second.area();
  const std::uint64_t fewest = ranks > second_area ? ranks - second_area : 1;
  const std::uint64_t most = std::min(ranks - 1, halves.first.area());
  halves.first_ranks = std::clamp(wanted, std::max<std::uint64_t>(1, fewest), most);
  halves.heaviest = std::max(first_load / static_cast<double>(halves.first_ranks),
                             second_load / static_cast<double>(ranks - halves.first_ranks));
  const auto side = static_cast<std::int64_t>(std::max(whole.rows(), whole.columns()));
  halves.off_middle = std::abs(2 * std::int64_t{at} - side);
  return halves;
}

// Recursive bisection: any number of ranks up to the area, nearly equal loads, sides not too long.
void bisect(const Rectangle& whole, const Loads& loads, std::uint64_t ranks,
            std::vector<Rectangle>& parts) {
  if (ranks == 1) {
    parts.push_back(whole);
    return;
  }
  const auto side = static_cast<std::uint32_t>(std::max(whole.rows(), whole.columns()));
  std::optional<Halves> best;
  for (std::uint32_t at = 1; at < side; ++at) {
    const Halves halves = cut_at(whole, loads, ranks, at);
    if (!best || halves.heaviest < best->heaviest ||
        (halves.heaviest == best->heaviest && halves.off_middle < best->off_middle)) {
      best = halves;
    }
  }
  ensure(best.has_value(), "a region of one node cannot be cut");
  bisect(best->first, loads, best->first_ranks, parts);
  bisect(best->second, loads, ranks - best->first_ranks, parts);
}

struct Candidate {
  std::vector<Rectangle> parts;
  std::uint64_t heaviest = 0;
  std::uint64_t cut = 0;
};

Candidate judged(std::vector<Rectangle> parts, const Grid& grid, const Loads& loads) {
  Candidate candidate;
  for (const Rectangle& part : parts) {
    candidate.heaviest = std::max(candidate.heaviest, loads.of(part));
    candidate.cut += cut_links(part, grid);
  }
  candidate.parts = std::move(parts);
  return candidate;
}

std::vector<Candidate> candidates(const Grid& grid, const Loads& loads, std::uint32_t ranks) {
  std::vector<Candidate> all;
  for (std::uint32_t down = 1; down <= std::min(ranks, grid.rows); ++down) {
    if (ranks % down == 0 && ranks / down <= grid.columns) {
      all.push_back(judged(product(grid, loads, down, ranks / down), grid, loads));
    }
  }
  std::vector<Rectangle> parts;
  bisect({0, grid.rows, 0, grid.columns}, loads, ranks, parts);
  all.push_back(judged(std::move(parts), grid, loads));
  return all;
}

Partition cut_blocks(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  const std::optional<Grid> grid = topology.grid();
  if (!grid) {
    throw ConfigError("partitioner 'blocks' needs a grid (mesh, torus, wafer); use 'metis'");
  }
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  const Loads loads(*grid, weights);
  const auto all = candidates(*grid, loads, static_cast<std::uint32_t>(ranks));
  std::uint64_t lightest = all.front().heaviest;
  for (const Candidate& candidate : all) {
    lightest = std::min(lightest, candidate.heaviest);
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : all) {
    const bool balanced = candidate.heaviest <= lightest + lightest / 10;
    if (balanced && (best == nullptr || candidate.cut < best->cut)) {
      best = &candidate;
    }
  }
  std::vector<std::uint32_t> owner(topology.nodes());
  for (std::uint32_t rank = 0; rank < best->parts.size(); ++rank) {
    const Rectangle& part = best->parts[rank];
    for (std::uint32_t row = part.top; row < part.bottom; ++row) {
      for (std::uint32_t column = part.left; column < part.right; ++column) {
        owner[grid->node(row, column).value()] = rank;
      }
    }
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration blocks_registration(
    partitioners(),
    {"blocks", "near-square rectangles with the fewest cut links; mesh, torus and wafer", {}},
    cut_blocks);

}  // namespace
}  // namespace tessera::machine
