// Counts of work that must not wrap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::compute {

inline std::uint64_t rounded_up_quotient(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// Of parts of `limit` that `side` is cut in.
inline std::uint64_t last_part(std::uint64_t side, std::uint64_t limit) {
  return side - (rounded_up_quotient(side, limit) - 1) * limit;
}

// By how much a is more than b.
inline std::uint64_t excess(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

[[noreturn]] inline void refuse_work() {
  throw ModelError("the work of a matrix product leaves the range of 2^64");
}

// Throws ModelError, as does the next.
inline std::uint64_t product_of(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      refuse_work();
    }
  }
  return product;
}

inline std::uint64_t sum_of(std::initializer_list<std::uint64_t> terms) {
  std::uint64_t sum = 0;
  for (const std::uint64_t term : terms) {
    if (__builtin_add_overflow(sum, term, &sum)) {
      refuse_work();
    }
  }
  return sum;
}

// When columns have left an array of `width`: those of the last block, which began at `last`, or of
// a wider one before it, at `before`.
inline std::uint64_t columns_drained(std::uint64_t columns, std::uint64_t width, std::uint64_t last,
                                     std::uint64_t before) {
  const std::uint64_t own = sum_of({last, last_part(columns, width)});
  return columns > width ? std::max(own, sum_of({before, width})) : own;
}

// Sums with differences, in twice the bits.
inline std::int64_t checked_sum(SignedWide sum) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (sum > most || sum < -most) {
    refuse_work();
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace tessera::compute
