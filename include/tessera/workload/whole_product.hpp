// The shape of all that an operation multiplies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/core/wide.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::workload {

// The product of an operation; of fused attention with as many columns or as deep, whichever are
// more, as its FLOPs ask for at least. Backward it multiplies five times where its shape has four,
// two of them over the keys: it makes the scores again. FLOPs of others beyond their shapes are
// sums and activations, which go on beside the products.
inline MatrixProduct whole_product(const Operation& operation) {
  MatrixProduct product = operation.product;
  const auto flops = operation.flops.count();
  // Of shapes that leave 64 bits, too: those who time them complain.
  const double of_shape = 2.0 * static_cast<double>(product.rows) *
                          static_cast<double>(product.columns) *
                          static_cast<double>(product.depth) * static_cast<double>(product.count);
  if (operation.kernel != Kernel::fused_attention || of_shape == 0 ||
      static_cast<double>(flops) <= of_shape) {
    return product;
  }
  const bool is_wide = product.columns > product.depth;
  std::uint64_t& longer = is_wide ? product.columns : product.depth;
  const Wide of_one =
      Wide{2} * product.rows * (is_wide ? product.depth : product.columns) * product.count;
  longer = std::max(longer, static_cast<std::uint64_t>((flops + of_one - 1) / of_one));
  return product;
}

}  // namespace tessera::workload
