// Sizes of the tiles of a convolution.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tessera/npu/core.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

// Two directions, rows first.
using Sides = std::array<std::uint64_t, 2>;

// Images of [height, width, channels]; windows of kernel sides, `groups` of channels apart.
struct ConvolutionShape {
  std::uint64_t images = 1;
  Sides input{1, 1};
  std::uint64_t channels = 1;  // of the input, all groups
  std::uint64_t outputs = 1;   // channels of the output, all groups
  Sides kernel{1, 1};
  Sides stride{1, 1};
  Sides padding{0, 0};
  Sides dilation{1, 1};
  std::uint64_t groups = 1;

  // Positions of the window; 0 when it does not fit.
  Sides positions() const;
  std::uint64_t group_channels() const { return channels / groups; }
  std::uint64_t group_outputs() const { return outputs / groups; }
  // Of the input that so many positions look at, padding included.
  std::uint64_t reach(std::size_t direction, std::uint64_t positions) const {
    return (positions - 1) * stride[direction] + dilation[direction] * (kernel[direction] - 1) + 1;
  }
};

struct ConvolutionTiles {
  Sides positions{1, 1};
  std::uint64_t outputs = 1;
  std::uint64_t channels = 1;  // a step
  Sides kernel{1, 1};          // a step
  bool like_onnxim = false;
};

// None where no tile fits in half of the scratchpad: windows are gathered then, see convolution.cpp
std::optional<ConvolutionTiles> convolution_tiles(const ConvolutionShape& shape,
                                                  const Target& target);

}  // namespace tessera::npu
