// Sizes of the tiles of a convolution, and what multiplies.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/npu/specs.hpp"

namespace tessera::npu {

enum class ConvolutionUnit : std::uint8_t {
  array,     // one group at a time
  diagonal,  // the array with weights of several groups along its diagonal, zeros elsewhere
  vector,    // the vector unit: a multiplication and an addition for each element of the window
};

struct ConvolutionTiles {
  Sides positions{1, 1};
  std::uint64_t outputs = 1;   // of a group
  std::uint64_t channels = 1;  // of a group, a step
  Sides kernel{1, 1};          // a step
  bool like_onnxim = false;
  std::uint64_t groups = 1;  // with the array: 1
  ConvolutionUnit unit = ConvolutionUnit::array;
  // Neighbours in a row of the kernel that enter the array together, one under the other. Pixels
  // with few channels would leave most rows of the array empty.
  std::uint64_t pixels = 1;
};

// None where no tile fits in half of the scratchpad: windows are gathered then, see
// convolution_kind.cpp.
std::optional<ConvolutionTiles> convolution_tiles(const ConvolutionShape& shape,
                                                  const StoredWeights& weights,
                                                  const Target& target);

// Groups whose channels and outputs fit the array side by side.
std::uint64_t groups_a_block(const ConvolutionShape& shape, const Target& target);

// Several groups a tile. None where fewer than two groups fit the array, or no tile the memories.
std::optional<ConvolutionTiles> grouped_tiles(const ConvolutionShape& shape,
                                              const StoredWeights& weights, const Target& target);

}  // namespace tessera::npu
