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

// How a tile's program goes about it.
struct ConvolutionOrder {
  // Positions that pass the array at a time, at least its height.
  std::uint64_t positions_a_block = 256;
  // Blocks of weights have the addresses of those of one output, and are loaded so, in whole
  // requests of so many bytes; 0: they have their own.
  std::uint64_t shared_block_request = 0;
  // Of rows and columns those are loaded that a stride meets from the first one on, whatever the
  // kernel; those without a gap of `shared_block_request` in one piece.
  bool loads_met_pixels = false;
  // Bias, residuals and an activation are part of it.
  bool has_fused = true;
};

struct ConvolutionTiles {
  Sides positions{1, 1};
  std::uint64_t outputs = 1;   // of a group
  std::uint64_t channels = 1;  // of a group, a step
  Sides kernel{1, 1};          // a step
  ConvolutionOrder order{};
  std::uint64_t groups = 1;  // with the array: 1
  ConvolutionUnit unit = ConvolutionUnit::array;
  // Neighbours in a row of the kernel that enter the array together, one under the other. Pixels
  // with few channels would leave most rows of the array empty.
  std::uint64_t pixels = 1;
};

// None where no tile fits in half of the scratchpad: windows are gathered then, see
// convolution/kind.cpp.
std::optional<ConvolutionTiles> convolution_tiles(const ConvolutionShape& shape,
                                                  const StoredWeights& weights,
                                                  const Target& target);

// Groups whose channels and outputs fit the array side by side.
std::uint64_t groups_a_block(const ConvolutionShape& shape, const Target& target);

// Several groups a tile. None where fewer than two groups fit the array, or no tile the memories.
std::optional<ConvolutionTiles> grouped_tiles(const ConvolutionShape& shape,
                                              const StoredWeights& weights, const Target& target);

}  // namespace tessera::npu
