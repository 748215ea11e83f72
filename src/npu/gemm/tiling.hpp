// Sizes of the tiles of a matrix product.
#pragma once

#include <cstdint>

#include "tessera/npu/specs.hpp"

namespace tessera::npu {

// In which order a tile's instructions come, and how weights lie in memory.
struct ProductOrder {
  // Rows of a block of activations: as many, in whole heights of the array, one at least.
  std::uint64_t least_rows_a_block = 64;
  // The whole depth of a block is loaded at once; else so much at a time as a load is worth.
  bool loads_whole_depth = false;
  // A block of weights stays in the array while all rows pass; else it changes with every block of
  // the product.
  bool keeps_weights = true;
  // Weights lie column by column, each of whole bytes; else in blocks as wide as the array, of
  // which each is a row of weights after the other, as the array takes them.
  bool weights_by_column = false;
};

struct ProductTiles {
  std::uint64_t rows = 1;
  std::uint64_t columns = 1;
  std::uint64_t depth = 1;
  ProductOrder order{};
};

// `weights`: in memory and in the scratchpad.
ProductTiles product_tiles(const ProductShape& shape, const StoredWeights& weights,
                           const Target& target);

}  // namespace tessera::npu
