// Sizes of the tiles of a matrix product.
#pragma once

#include <cstdint>

#include "tessera/npu/specs.hpp"

namespace tessera::npu {

struct ProductTiles {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t depth = 1;
  bool like_onnxim = false;  // instructions in its order too
};

// `weights`: in memory and in the scratchpad.
ProductTiles product_tiles(const ProductShape& shape, const StoredWeights& weights,
                           const Target& target);

}  // namespace tessera::npu
