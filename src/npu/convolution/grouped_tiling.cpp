// Tiles of several small groups, as of depth-wise convolutions. Channels of neighbouring groups are
// neighbours in memory, so that they are loaded together, and multiplied together: by the array, in
// which they take a block on the diagonal each, or by the vector unit, whichever is faster.

#include <algorithm>

#include "convolution/tiling.hpp"
#include "cut.hpp"
#include "tessera/npu/vector_work.hpp"
#include "tiling_score.hpp"

namespace tessera::npu {
namespace {

class Grouping {
 public:
  Grouping(const ConvolutionShape& shape, const StoredWeights& weights, const Target& target)
      : shape_(shape), weights_(weights), target_(target), positions_(shape.positions()) {}

  std::optional<ConvolutionTiles> find() {
    const std::uint64_t block = groups_a_block(shape_, target_);
    if (block < 2) {
      return std::nullopt;
    }
    for (const std::uint64_t groups : lengths(shape_.groups, std::min(block, shape_.groups))) {
      for (const std::uint64_t height : lengths(positions_[0], 1)) {
        for (const std::uint64_t width : lengths(positions_[1], 1)) {
          consider(groups, {height, width}, ConvolutionUnit::vector);
          consider(groups, {height, width}, ConvolutionUnit::diagonal);
        }
      }
    }
    return found_;
  }

 private:
  std::uint64_t window() const { return shape_.kernel[0] * shape_.kernel[1]; }
  std::uint64_t weights_of_group() const {
    return window() * shape_.group_channels() * shape_.group_outputs();
  }

  void consider(std::uint64_t groups, Sides positions, ConvolutionUnit unit) {
    const CoreConfig& core = target_.core;
    const std::uint64_t outputs = groups * shape_.group_outputs();
    const std::uint64_t pixels = shape_.reach(0, positions[0]) * shape_.reach(1, positions[1]) *
                                 groups * shape_.group_channels();
    const std::uint64_t block = groups_a_block(shape_, target_);
    const std::uint64_t zeros = unit == ConvolutionUnit::diagonal ? block : 1;
    const std::uint64_t e = target_.element().count();
    const Wide weights = Wide{groups} * weights_of_group();
    const Wide held = Wide{pixels} * e +
                      Wide{weights_.bytes_in_parts(weights, quotient_up(groups, block))} * zeros;
    if (positions[0] * positions[1] * outputs * sum_bytes > core.accumulator_half().count() ||
        held > core.scratchpad_half().count()) {
      return;
    }
    const Wide tiles = Wide{shape_.images} * quotient_up(shape_.groups, groups) *
                       quotient_up(positions_[0], positions[0]) *
                       quotient_up(positions_[1], positions[1]);
    TilingScore score;
    score.busiest = (tiles + target_.cores - 1) / target_.cores *
                    cycles(groups, positions[0] * positions[1], unit);
    score.moved = tiles * (Wide{pixels} * e + weights_.bytes_of(weights));
    score.tiles = tiles;
    if (!found_ || score.is_better_than(score_)) {
      found_ = {
          positions, shape_.group_outputs(), shape_.group_channels(), shape_.kernel, {}, groups,
          unit};
      score_ = score;
    }
  }

  Wide cycles(std::uint64_t groups, std::uint64_t positions, ConvolutionUnit unit) const {
    const CoreConfig& core = target_.core;
    if (unit == ConvolutionUnit::vector) {
      return vector_cycles(core, multiplications(window() * shape_.group_channels()), positions,
                           groups * shape_.group_outputs());
    }
    return Wide{quotient_up(groups, groups_a_block(shape_, target_))} * window() *
           std::max(positions, core.rows);
  }

  const ConvolutionShape& shape_;
  const StoredWeights& weights_;
  const Target& target_;
  Sides positions_;
  std::optional<ConvolutionTiles> found_;
  TilingScore score_;
};

}  // namespace

std::uint64_t groups_a_block(const ConvolutionShape& shape, const Target& target) {
  return std::min(target.array_depth() / shape.group_channels(),
                  target.core.columns / shape.group_outputs());
}

std::optional<ConvolutionTiles> grouped_tiles(const ConvolutionShape& shape,
                                              const StoredWeights& weights, const Target& target) {
  return shape.groups > 1 ? Grouping(shape, weights, target).find() : std::nullopt;
}

}  // namespace tessera::npu
