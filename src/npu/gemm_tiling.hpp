// Sizes of the tiles of a matrix product.
#pragma once

#include <cstdint>

#include "tessera/npu/core.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

// rows x depth times depth x columns, `count` times.
struct ProductShape {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t depth = 1;
  std::uint64_t count = 1;
};

struct ProductTiles {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t depth = 1;
  bool like_onnxim = false;  // instructions in its order too
};

ProductTiles product_tiles(const ProductShape& shape, const Target& target);

}  // namespace tessera::npu
