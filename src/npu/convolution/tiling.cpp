#include "convolution/tiling.hpp"

#include <algorithm>

#include "cut.hpp"
#include "tiling_score.hpp"

namespace tessera::npu {
namespace {

// One group at a time.
class Fitting {
 public:
  Fitting(const ConvolutionShape& shape, const StoredWeights& weights, const Target& target)
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
  // is read in one piece (Gemmini's max_pixels_per_row). ONNXim's code has one at a time.
  std::uint64_t pixels_together(std::uint64_t channels) const {
    if (target_.core.tiling == Tiling::onnxim || channels < shape_.group_channels() ||
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

// Gemmini's heuristic for tiled convolutions as ONNXim has it: cut the largest extent until all
// fits, then let the width of the output grow again, then everything. Square images and kernels
// alone. Sizes are counted in rows of the memories, as wide as the array. None where ONNXim itself
// would overrun its scratchpad or has no such operator.
class Heuristic {
 public:
  Heuristic(const ConvolutionShape& shape, const StoredWeights& weights, const Target& target)
      : shape_(shape), weights_(weights), target_(target) {}

  std::optional<ConvolutionTiles> find() {
    const CoreConfig& core = target_.core;
    const Sides positions = shape_.positions();
    if (core.rows != core.columns || shape_.groups != 1 || positions[0] != positions[1] ||
        shape_.kernel[0] != shape_.kernel[1] || shape_.dilation != Sides{1, 1} ||
        shape_.stride[0] != shape_.stride[1]) {
      return std::nullopt;
    }
    side_ = core.rows;
    pad_rows_ = core.scratchpad.count() / (side_ * target_.element().count() * 2);
    sum_rows_ = core.accumulator.count() / (side_ * sum_bytes * 2);
    downsamples_ = shape_.stride[0] == 2 && shape_.kernel[0] == 1 && shape_.padding[0] == 0;
    most_ = {1,
             positions[0],
             positions[1],
             shape_.outputs,
             shape_.kernel[0],
             shape_.kernel[1],
             shape_.channels};
    Extents extents = most_;
    while (!fits(extents)) {
      if (!shrink(extents)) {
        return std::nullopt;
      }
    }
    while (grows(extents, width)) {
    }
    while (grow_all(extents)) {
    }
    ConvolutionTiles tiles{{extents[width], extents[height]},
                           extents[outputs],
                           extents[channels],
                           {extents[kernel_rows], extents[kernel_columns]},
                           true};
    return holds(tiles) ? std::optional(tiles) : std::nullopt;
  }

 private:
  enum Place : std::size_t {
    images,
    height,
    width,
    outputs,
    kernel_rows,
    kernel_columns,
    channels
  };
  using Extents = std::array<std::uint64_t, 7>;

  std::uint64_t side_of_input(std::uint64_t positions, std::uint64_t kernel) const {
    return (positions * shape_.stride[0] + kernel - 1) >> (downsamples_ ? 1U : 0U);
  }

  bool fits(const Extents& e) const {
    const std::uint64_t input = quotient_up(e[channels], side_) * e[images] *
                                side_of_input(e[height], e[kernel_rows]) *
                                side_of_input(e[width], e[kernel_columns]);
    const std::uint64_t weights =
        quotient_up(e[outputs], side_) * e[kernel_rows] * e[kernel_columns] * e[channels];
    const std::uint64_t sums = quotient_up(e[outputs], side_) * e[images] * e[height] * e[width];
    return input + weights <= pad_rows_ && sums <= sum_rows_;
  }

  // The first of the largest; the width not below the array's side while there is height.
  bool shrink(Extents& e) const {
    std::size_t largest = e.size();
    for (std::size_t i = 0; i < e.size(); ++i) {
      const bool keeps = i == width && e[width] <= side_ && e[height] > 1;
      if (!keeps && (largest == e.size() || e[i] > e[largest])) {
        largest = i;
      }
    }
    if (largest == e.size() || e[largest] <= 1) {
      return false;
    }
    if (largest == outputs || largest == channels) {
      const std::uint64_t rest = e[largest] % side_;
      e[largest] -= rest != 0 ? rest : side_;
      e[largest] = std::max<std::uint64_t>(e[largest], 1);
    } else {
      --e[largest];
    }
    return true;
  }

  bool grows(Extents& e, std::size_t place) const {
    Extents larger = e;
    ++larger[place];
    if (larger[place] > most_[place] || !fits(larger)) {
      return false;
    }
    e = larger;
    return true;
  }

  // One step of each extent in turn, as long as what is there takes two thirds of a half.
  bool grow_all(Extents& e) const {
    bool any = false;
    for (std::size_t place = 0; place < e.size(); ++place) {
      const std::uint64_t bytes = target_.element().count();
      const std::uint64_t weights =
          e[images] * e[outputs] * e[kernel_rows] * e[kernel_columns] * e[channels] * bytes;
      const std::uint64_t input = e[images] * (e[height] + 2 * shape_.padding[0]) *
                                  (e[width] + 2 * shape_.padding[0]) * e[channels] * bytes;
      if ((input + weights) * 3 / 2 <= target_.core.scratchpad_half().count()) {
        any = grows(e, place) || any;
      }
    }
    return any;
  }

  // In bytes, as our tiles count.
  bool holds(const ConvolutionTiles& tiles) const {
    const std::uint64_t input =
        shape_.reach(0, tiles.positions[0]) * shape_.reach(1, tiles.positions[1]);
    const std::uint64_t window = tiles.kernel[0] * tiles.kernel[1];
    const std::uint64_t blocks = quotient_up(tiles.outputs, side_) * window *
                                 quotient_up(tiles.channels, target_.array_depth());
    const Wide held =
        Wide{input} * tiles.channels * target_.element().count() +
        weights_.bytes_in_parts(Wide{tiles.outputs} * window * tiles.channels, blocks);
    return held <= target_.core.scratchpad_half().count() &&
           tiles.positions[0] * tiles.positions[1] * tiles.outputs * sum_bytes <=
               target_.core.accumulator_half().count();
  }

  const ConvolutionShape& shape_;
  const StoredWeights& weights_;
  const Target& target_;
  std::uint64_t side_ = 1;
  std::uint64_t pad_rows_ = 0;
  std::uint64_t sum_rows_ = 0;
  bool downsamples_ = false;
  Extents most_{};
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

std::optional<ConvolutionTiles> convolution_tiles(const ConvolutionShape& shape,
                                                  const StoredWeights& weights,
                                                  const Target& target) {
  if (target.core.tiling == Tiling::onnxim) {
    if (const auto tiles = Heuristic(shape, weights, target).find()) {
      return tiles;
    }
  }
  const auto together = grouped_tiles(shape, weights, target);
  return together ? together : Fitting(shape, weights, target).find();
}

}  // namespace tessera::npu
