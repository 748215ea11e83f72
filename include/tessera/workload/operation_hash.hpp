// Tables of operations that are looked up by all that an operation is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/workload/operation.hpp"

namespace tessera::workload {

// Mixes the numbers in which operations mostly differ (multiplication by 2^64 over the golden
// ratio: D. E. Knuth, "The Art of Computer Programming", vol. 3, section 6.4). Two that differ in
// nothing but their class or their sequences have the same hash, and are told apart by ==.
struct OperationHash {
  std::size_t operator()(const Operation& operation) const {
    const MatrixProduct& product = operation.product;
    std::uint64_t hash = 0;
    for (const std::uint64_t number :
         {product.rows, product.columns, product.depth, product.count, operation.flops.count(),
          operation.bytes.count(), operation.added.count(), operation.elements}) {
      hash = (hash ^ number) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29U;
    }
    return hash;
  }
};

}  // namespace tessera::workload
