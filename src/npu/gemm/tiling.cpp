#include "gemm/tiling.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "cut.hpp"
#include "tessera/npu/core/too_small.hpp"
#include "tiling_rule.hpp"
#include "tiling_score.hpp"

namespace tessera::npu {
namespace {

class GemmFitting {
 public:
  GemmFitting(const ProductShape& shape, const StoredWeights& weights, const Target& target)
      : shape_(shape), weights_(weights), target_(target) {}

  ProductTiles find() {
    for (const std::uint64_t rows : lengths(shape_.rows, core().rows)) {
      for (const std::uint64_t columns : lengths(shape_.columns, core().columns)) {
        consider(rows, columns);
      }
    }
    if (!found_) {
      throw CoreTooSmall(core(), "a product of " + std::to_string(shape_.rows) + " x " +
                                     std::to_string(shape_.depth) + " by " +
                                     std::to_string(shape_.depth) + " x " +
                                     std::to_string(shape_.columns));
    }
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

}  // namespace

ProductTiles product_tiles(const ProductShape& shape, const StoredWeights& weights,
                           const Target& target) {
  const auto tiles = tiling_rule(target.core.tiling).product(shape, weights, target);
  return tiles ? *tiles : GemmFitting(shape, weights, target).find();
}

}  // namespace tessera::npu
