// Matrices that a systolic array is stepped with.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/workload/operation.hpp"

namespace tessera::compute {

// Row by row; those of `shape.count` products one below the other.
template <class T>
struct Operands {
  workload::MatrixProduct shape;
  std::vector<T> inputs;   // [count x rows, depth]
  std::vector<T> weights;  // [count x depth, columns]
};

template <class Sum>
struct Stepped {
  std::uint64_t cycles = 0;                // until all was complete
  std::vector<std::uint64_t> completions;  // [products] cycles until each was
  std::vector<std::vector<Sum>> outputs;   // [products] [count x rows, columns], row by row
};

// Whole numbers from -limit to limit, the same for the same seed. T is int8_t or float.
template <class T>
Operands<T> random_operands(const workload::MatrixProduct& shape, std::uint64_t seed, int limit);

// Whether columns of outputs add up to what the operands' do, modulo 2^32, for whole numbers whose
// sums are exact (Huang, Abraham: "Algorithm-based fault tolerance for matrix operations", IEEE
// Transactions on Computers C-33(6), 1984, doi:10.1109/TC.1984.1676475). O(size of the operands).
// T and Sum are int8_t and int32_t, or float and float.
template <class T, class Sum>
bool column_sums_agree(const Operands<T>& operands, const std::vector<Sum>& outputs);

}  // namespace tessera::compute
