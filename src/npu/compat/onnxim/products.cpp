#include <algorithm>

#include "compat/onnxim/onnxim.hpp"
#include "cut.hpp"

namespace tessera::npu {
namespace {

// Heuristic of Gemmini (its function for tiled matrix products with double buffering), with what
// ONNXim adds: at least a tile a core, and a number of tiles that the cores can share, by cutting
// the longer side. In blocks of the array's side; half of the accumulator for squares, and the
// depth that then fits, of elements of one size: weights that are stored in fewer bytes are moved
// so, in tiles of the same sizes. None where its cuts are no whole block: there ONNXim divides by
// zero.
//
// Blocks of activations are as high as the array, all loads come first, and the weights change with
// every block of the product.
constexpr ProductOrder order{.least_rows_a_block = 1,
                             .loads_whole_depth = true,
                             .keeps_weights = false,
                             .weights_by_column = true};

class ProductHeuristic {
 public:
  ProductHeuristic(const ProductShape& shape, const StoredWeights& weights, const Target& target)
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
    tiles.order = order;
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

std::optional<ProductTiles> onnxim_product(const ProductShape& shape, const StoredWeights& weights,
                                           const Target& target) {
  return ProductHeuristic(shape, weights, target).find();
}

}  // namespace tessera::npu
