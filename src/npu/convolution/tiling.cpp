#include "convolution/tiling.hpp"

#include <algorithm>
#include <map>

#include "cut.hpp"
#include "tiling_rule.hpp"
#include "tiling_score.hpp"

namespace tessera::npu {
namespace {

// One group at a time.
class ConvolutionFitting {
 public:
  ConvolutionFitting(const ConvolutionShape& shape, const StoredWeights& weights,
                     const Target& target)
      : shape_(shape), weights_(weights), target_(target), positions_(shape.positions()) {}

  std::optional<ConvolutionTiles> find() {
    for (const std::uint64_t outputs : lengths(shape_.group_outputs(), target_.core.columns)) {
      for (const std::uint64_t height : lengths(positions_[0], 1)) {
        for (const std::uint64_t width : lengths(positions_[1], 1)) {
          consider(outputs, {height, width});
        }
      }
    }
    return found_;
  }

 private:
  void consider(std::uint64_t outputs, Sides positions) {
    const CoreConfig& core = target_.core;
    if (positions[0] * positions[1] * outputs * sum_bytes > core.accumulator_half().count()) {
      return;
    }
    const Wide room = core.scratchpad_half().count();
    std::uint64_t channels = shape_.group_channels();
    if (held(outputs, positions, channels) > room) {
      const std::uint64_t height = target_.array_depth();
      channels = static_cast<std::uint64_t>(room / held(outputs, positions, height)) * height;
    }
    if (channels == 0) {
      return;
    }
    const auto score = score_of(outputs, positions, channels);
    if (!found_ || score.is_better_than(score_)) {
      found_ = ConvolutionTiles{positions, outputs, channels, shape_.kernel};
      found_->pixels = pixels_together(channels);
      score_ = score;
    }
  }

  std::uint64_t pixels(Sides positions) const {
    return shape_.reach(0, positions[0]) * shape_.reach(1, positions[1]);
  }

  // In the scratchpad [B], where blocks of weights are buffers of whole bytes.
  Wide held(std::uint64_t outputs, Sides positions, std::uint64_t channels) const {
    const std::uint64_t window = shape_.kernel[0] * shape_.kernel[1];
    const std::uint64_t blocks = quotient_up(outputs, target_.core.columns) * window *
                                 quotient_up(channels, target_.array_depth());
    return Wide{pixels(positions)} * channels * target_.element().count() +
           weights_.bytes_in_parts(Wide{outputs} * window * channels, blocks);
  }

  // As many as fit the array. They are neighbours in the scratchpad too, so that a row of the array
  // is read in one piece (Gemmini's max_pixels_per_row).
  std::uint64_t pixels_together(std::uint64_t channels) const {
    if (!tiling_rule(target_.core.tiling).joins_pixels() || channels < shape_.group_channels() ||
        shape_.dilation[1] != 1) {
      return 1;
    }
    return std::clamp<std::uint64_t>(target_.array_depth() / channels, 1, shape_.kernel[1]);
  }

  TilingScore score_of(std::uint64_t outputs, Sides positions, std::uint64_t channels) const {
    const CoreConfig& core = target_.core;
    const std::uint64_t output_parts = quotient_up(shape_.group_outputs(), outputs);
    const std::uint64_t heights = quotient_up(positions_[0], positions[0]);
    const std::uint64_t widths = quotient_up(positions_[1], positions[1]);
    const Wide groups = Wide{shape_.images} * shape_.groups * output_parts * heights * widths;
    const Wide of_core = (groups + target_.cores - 1) / target_.cores;
    const std::uint64_t window = shape_.kernel[0] * shape_.kernel[1];
    const std::uint64_t folds = quotient_up(shape_.group_channels(), channels) *
                                quotient_up(channels, target_.array_depth()) * shape_.kernel[0] *
                                quotient_up(shape_.kernel[1], pixels_together(channels));
    TilingScore score;
    score.busiest = of_core * std::max(positions[0] * positions[1], core.rows) *
                    quotient_up(outputs, core.columns) * folds;
    const Wide channels_of_group = shape_.group_channels();
    score.moved = groups * (channels_of_group * pixels(positions) * target_.element().count() +
                            weights_.bytes_of(channels_of_group * outputs * window));
    score.tiles = groups;
    return score;
  }

  const ConvolutionShape& shape_;
  const StoredWeights& weights_;
  const Target& target_;
  Sides positions_;
  std::optional<ConvolutionTiles> found_;
  TilingScore score_;
};

}  // namespace

Sides ConvolutionShape::positions() const {
  Sides sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::uint64_t room = input[i] + 2 * padding[i];
    sides[i] = room < reach(i, 1) ? 0 : (room - reach(i, 1)) / stride[i] + 1;
  }
  return sides;
}

// A place of the kernel sees every stride-th row, so places see other rows or, where they are whole
// strides from each other, runs of the same ones.
std::uint64_t ConvolutionShape::seen(std::size_t direction) const {
  const std::uint64_t windows = positions()[direction];
  const std::uint64_t step = stride[direction];
  const std::uint64_t pad = padding[direction];
  std::map<std::uint64_t, std::uint64_t> ends;  // of the runs so far, by the remainder
  std::uint64_t rows = 0;
  for (std::uint64_t place = 0; place < kernel[direction]; ++place) {
    const std::uint64_t remainder = place * dilation[direction] % step;
    const std::uint64_t first = place * dilation[direction] / step;
    // Row `remainder + step * i` of the padded input is one of the input itself.
    const std::uint64_t inside = remainder >= pad ? 0 : quotient_up(pad - remainder, step);
    const std::uint64_t outside = input[direction] + pad <= remainder
                                      ? 0
                                      : quotient_up(input[direction] + pad - remainder, step);
    std::uint64_t& end = ends[remainder];
    const std::uint64_t from = std::max({first, inside, end});
    const std::uint64_t to = std::min(first + windows, outside);
    rows += to > from ? to - from : 0;
    end = std::max(end, first + windows);
  }
  return rows;
}

std::optional<ConvolutionTiles> convolution_tiles(const ConvolutionShape& shape,
                                                  const StoredWeights& weights,
                                                  const Target& target) {
  if (const auto tiles = tiling_rule(target.core.tiling).convolution(shape, weights, target)) {
    return tiles;
  }
  const auto together = grouped_tiles(shape, weights, target);
  return together ? together : ConvolutionFitting(shape, weights, target).find();
}

}  // namespace tessera::npu
