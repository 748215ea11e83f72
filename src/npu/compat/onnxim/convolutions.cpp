#include <algorithm>
#include <array>

#include "compat/onnxim/onnxim.hpp"
#include "cut.hpp"

namespace tessera::npu {
namespace {

// ONNXim loads whole requests.
constexpr std::uint64_t request = 32;  // [B]

// As many positions in each direction as the array is wide; weights of a block at the addresses of
// one output's; neither bias nor skip connections.
ConvolutionOrder order_on(const CoreConfig& core) {
  return {core.columns * core.columns, request, true, false};
}

// Gemmini's heuristic for tiled convolutions as ONNXim has it: cut the largest extent until all
// fits, then let the width of the output grow again, then everything. Square images and kernels
// alone. Sizes are counted in rows of the memories, as wide as the array. None where ONNXim itself
// would overrun its scratchpad or has no such operator.
class ConvolutionHeuristic {
 public:
  ConvolutionHeuristic(const ConvolutionShape& shape, const StoredWeights& weights,
                       const Target& target)
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
                           order_on(core)};
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

std::optional<ConvolutionTiles> onnxim_convolution(const ConvolutionShape& shape,
                                                   const StoredWeights& weights,
                                                   const Target& target) {
  return ConvolutionHeuristic(shape, weights, target).find();
}

}  // namespace tessera::npu
