// Blocks: near-square rectangles of a grid.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

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

// Load of any rectangle in O(1): as if all nodes weighed the same, and what some weigh beyond that
// by a summed-area table of the rows and columns that have such nodes.
class Loads {
 public:
  Loads(const Grid& grid, const Weights& weights)
      : of_others_(weights.of_others()),
        rows_before_(std::size_t{grid.rows} + 1),
        columns_before_(std::size_t{grid.columns} + 1) {
    // Where one is, all that come after have one more before them.
    weights.visit([&](std::size_t node, std::uint32_t) {
      const EntityId id(static_cast<std::uint32_t>(node));
      rows_before_[grid.row_of(id) + 1] = 1;
      columns_before_[grid.column_of(id) + 1] = 1;
    });
    std::partial_sum(rows_before_.begin(), rows_before_.end(), rows_before_.begin());
    std::partial_sum(columns_before_.begin(), columns_before_.end(), columns_before_.begin());
    stride_ = columns_before_.back() + 1;
    sums_.resize((rows_before_.back() + 1) * stride_);
    weights.visit([&](std::size_t node, std::uint32_t weight) {
      const EntityId id(static_cast<std::uint32_t>(node));
      sums_[at(grid.row_of(id) + 1, grid.column_of(id) + 1)] = weight - of_others_;
    });
    for (std::size_t place = stride_; place < sums_.size(); ++place) {
      if (place % stride_ != 0) {
        sums_[place] += sums_[place - 1] + sums_[place - stride_] - sums_[place - stride_ - 1];
      }
    }
  }
  std::uint64_t of(const Rectangle& part) const {
    return part.area() * of_others_ + sums_[at(part.bottom, part.right)] -
           sums_[at(part.top, part.right)] - sums_[at(part.bottom, part.left)] +
           sums_[at(part.top, part.left)];
  }

 private:
  std::size_t at(std::uint32_t row, std::uint32_t column) const {
    return rows_before_[row] * stride_ + columns_before_[column];
  }

  std::uint64_t of_others_;
  std::vector<std::size_t> rows_before_;     // [rows + 1] that have such nodes
  std::vector<std::size_t> columns_before_;  // [columns + 1]
  std::size_t stride_ = 0;
  std::vector<std::uint64_t> sums_;  // [such rows + 1][such columns + 1] above and to the left
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
  const auto rows = even_cuts(RunOfLoads(row_loads), down);
  const auto columns = even_cuts(RunOfLoads(column_loads), across);
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

// [nodes]
std::vector<std::uint32_t> listed_owners(const Grid& grid, const std::vector<Rectangle>& parts) {
  std::vector<std::uint32_t> owner(std::size_t{grid.rows} * grid.columns);
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    const Rectangle& part = parts[rank];
    for (std::uint32_t row = part.top; row < part.bottom; ++row) {
      for (std::uint32_t column = part.left; column < part.right; ++column) {
        owner[grid.node(row, column).value()] = rank;
      }
    }
  }
  return owner;
}

// The same without a look at nodes: bands end where a rectangle does.
std::shared_ptr<const GridParts> banded_owners(const Grid& grid,
                                               const std::vector<Rectangle>& parts) {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> columns;
  for (const Rectangle& part : parts) {
    rows.push_back(part.top);
    columns.push_back(part.left);
  }
  rows = once_each(std::move(rows));
  columns = once_each(std::move(columns));
  std::vector<std::uint32_t> owner(rows.size() * columns.size());
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    const Rectangle& part = parts[rank];
    const auto first_column = static_cast<std::size_t>(
        std::lower_bound(columns.begin(), columns.end(), part.left) - columns.begin());
    auto row = static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), part.top) -
                                        rows.begin());
    for (; row < rows.size() && rows[row] < part.bottom; ++row) {
      for (std::size_t column = first_column;
           column < columns.size() && columns[column] < part.right; ++column) {
        owner[row * columns.size() + column] = rank;
      }
    }
  }
  return std::make_shared<GridParts>(grid, std::move(rows), std::move(columns), std::move(owner));
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
  Owners owner = is_vast(topology) ? Owners(banded_owners(*grid, best->parts))
                                   : Owners(listed_owners(*grid, best->parts));
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration blocks_registration(
    partitioners(),
    {"blocks", "near-square rectangles with the fewest cut links; for mesh, torus and wafer", {}},
    cut_blocks);

}  // namespace
}  // namespace tessera::machine
