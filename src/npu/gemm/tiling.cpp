#include "gemm/tiling.hpp"

#include <algorithm>
#include <optional>

#include "cut.hpp"
#include "tessera/core/error.hpp"
#include "tiling_score.hpp"

namespace tessera::npu {
namespace {

class Fitting {
 public:
  Fitting(const ProductShape& shape, const StoredWeights& weights, const Target& target)
      : shape_(shape), weights_(weights), target_(target) {}

  ProductTiles find() {
    for (const std::uint64_t rows : lengths(shape_.rows, core().rows)) {
      for (const std::uint64_t columns : lengths(shape_.columns, core().columns)) {
        consider(rows, columns);
      }
    }
    ensure(found_.has_value(), "no tile of a product fits");
    return *found_;
  }

 private:
  const CoreConfig& core() const { return target_.core; }

  // In the scratchpad [B], where blocks of weights are buffers of whole bytes.
  Wide held(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth) const {
    const std::uint64_t blocks = quotient_up(columns, core().columns);
    return Wide{rows} * depth * target_.element().count() +
           weights_.bytes_in_parts(Wide{columns} * depth,
                                   blocks * quotient_up(depth, target_.array_depth()));
  }

  // The most depth that fits in half of the scratchpad, in whole heights of the array.
  std::uint64_t depth_for(std::uint64_t rows, std::uint64_t columns) const {
    const Wide room = core().scratchpad_half().count();
    const std::uint64_t height = target_.array_depth();
    return held(rows, columns, shape_.depth) <= room
               ? shape_.depth
               : static_cast<std::uint64_t>(room / held(rows, columns, height)) * height;
  }

  void consider(std::uint64_t rows, std::uint64_t columns) {
    const std::uint64_t depth = depth_for(rows, columns);
    if (rows * columns * sum_bytes > core().accumulator_half().count() || depth == 0) {
      return;
    }
    const TilingScore score = score_of(rows, columns);
    if (!found_ || score.is_better_than(score_)) {
      // Steps of equal length.
      const std::uint64_t steps = quotient_up(shape_.depth, depth);
      const std::uint64_t even =
          steps == 1 ? depth : rounded_up(quotient_up(shape_.depth, steps), target_.array_depth());
      found_ = ProductTiles{rows, columns, std::min(even, depth)};
      score_ = score;
    }
  }

  TilingScore score_of(std::uint64_t rows, std::uint64_t columns) const {
    const std::uint64_t row_parts = quotient_up(shape_.rows, rows);
    const std::uint64_t column_parts = quotient_up(shape_.columns, columns);
    const Wide groups = Wide{shape_.count} * row_parts * column_parts;
    const Wide of_core = (groups + target_.cores - 1) / target_.cores;
    TilingScore score;
    // Cycles of the array for one height of it, by blocks of columns: rows, but at least its
    // height for the next weights to shift in.
    score.busiest = of_core * std::max(rows, core().rows) * quotient_up(columns, core().columns);
    const Wide depth = Wide{shape_.count} * shape_.depth;
    score.moved = depth * shape_.rows * column_parts * target_.element().count() +
                  Wide{weights_.bytes_of(depth * shape_.columns)} * row_parts;
    score.tiles = groups;
    return score;
  }

  const ProductShape& shape_;
  const StoredWeights& weights_;
  const Target& target_;
  std::optional<ProductTiles> found_;
  TilingScore score_;
};

// Heuristic of Gemmini (its function for tiled matrix products with double buffering), with what
// ONNXim adds: at least a tile a core, and a number of tiles that the cores can share, by cutting
// the longer side. In blocks of the array's side; half of the accumulator for squares, and the
// depth that then fits, of elements of one size: weights that are stored in fewer bytes are moved
// so, in tiles of the same sizes. None where its cuts are no whole block: there ONNXim divides by
// zero.
class Heuristic {
 public:
  Heuristic(const ProductShape& shape, const StoredWeights& weights, const Target& target)
      : shape_(shape), weights_(weights), target_(target) {}

  std::optional<ProductTiles> find() {
    const CoreConfig& core = target_.core;
    side_ = core.rows;
    if (core.rows != core.columns || shape_.count != 1) {
      return std::nullopt;
    }
    const std::uint64_t pad_rows =
        core.scratchpad.count() / (side_ * target_.element().count() * 2);
    const std::uint64_t sum_rows = core.accumulator.count() / (side_ * sum_bytes * 2);
    const std::uint64_t square = whole_root(sum_rows / side_);
    if (square == 0) {
      return std::nullopt;
    }
    const std::uint64_t deepest = pad_rows / 2 / side_ / square;
    if (deepest == 0) {
      return std::nullopt;
    }
    std::uint64_t row_parts = parts(shape_.rows, square);
    std::uint64_t column_parts = parts(shape_.columns, square);
    share_out(row_parts, column_parts);
    ProductTiles tiles;
    tiles.rows = length(shape_.rows, row_parts);
    tiles.columns = length(shape_.columns, column_parts);
    tiles.depth = length(shape_.depth, parts(shape_.depth, deepest));
    tiles.like_onnxim = true;
    if (tiles.rows == 0 || tiles.columns == 0 || tiles.depth == 0 || !fits(tiles)) {
      return std::nullopt;
    }
    return tiles;
  }

 private:
  static std::uint64_t whole_root(std::uint64_t square) {
    std::uint64_t root = 0;
    while ((root + 1) * (root + 1) <= square) {
      ++root;
    }
    return root;
  }

  std::uint64_t parts(std::uint64_t extent, std::uint64_t blocks) const {
    return std::min(quotient_up(extent, side_), quotient_up(extent, blocks * side_));
  }

  // Whole blocks, rounded down.
  std::uint64_t length(std::uint64_t extent, std::uint64_t parts) const {
    return quotient_up(rounded_up(extent, side_), parts) / side_ * side_;
  }

  // Cuts the longer side further, by a factor and then by a number; a square stays as it is.
  void share_out(std::uint64_t& row_parts, std::uint64_t& column_parts) const {
    const std::uint64_t cores = target_.cores;
    std::uint64_t* longer = nullptr;
    if (shape_.columns > shape_.rows && shape_.columns > cores) {
      longer = &column_parts;
    } else if (shape_.rows > shape_.columns && shape_.rows > cores) {
      longer = &row_parts;
    }
    if (longer == nullptr) {
      return;
    }
    if (row_parts * column_parts < cores) {
      *longer *= quotient_up(cores, row_parts * column_parts);
    }
    *longer += row_parts * column_parts % cores;
  }

  bool fits(const ProductTiles& tiles) const {
    const CoreConfig& core = target_.core;
    const Wide held = Wide{tiles.rows} * tiles.depth * target_.element().count() +
                      Wide{tiles.columns} * weights_.bytes_of(tiles.depth);
    return held <= core.scratchpad_half().count() &&
           tiles.rows * tiles.columns * sum_bytes <= core.accumulator_half().count();
  }

  const ProductShape& shape_;
  const StoredWeights& weights_;
  const Target& target_;
  std::uint64_t side_ = 1;
};

}  // namespace

ProductTiles product_tiles(const ProductShape& shape, const StoredWeights& weights,
                           const Target& target) {
  if (target.core.tiling == Tiling::onnxim) {
    if (const auto tiles = Heuristic(shape, weights, target).find()) {
      return *tiles;
    }
  }
  return Fitting(shape, weights, target).find();
}

}  // namespace tessera::npu
