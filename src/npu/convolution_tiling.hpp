// Sizes of the tiles of a convolution.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/npu/specs.hpp"

namespace tessera::npu {

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
