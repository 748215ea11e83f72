// Division by a number that stays the same, without a division.
#pragma once

#include <cstdint>
#include <limits>

#include "tessera/core/wide.hpp"

namespace tessera {

// Quotient and remainder of 32-bit numbers by multiplication: with m = floor((2^64 - 1) / d),
// floor(n / d) = floor((n + 1) * m / 2^64) for all n and d below 2^32 (round-down method: A. D.
// Robison, "N-bit unsigned division via N-bit multiply-add", ARITH-17 (2005),
// doi:10.1109/ARITH.2005.31). For (n + 1) * m < (n + 1) / d * 2^64, which keeps it below the next
// whole number, and what m lacks of 2^64 / d, less than 1, counts n + 1 <= 2^32 times, less than
// the 2^64 / d by which (n + 1) / d is beyond the quotient at least.
class Divisor {
 public:
  constexpr Divisor() = default;  // by one
  // `value` > 0.
  explicit constexpr Divisor(std::uint32_t value)
      : multiplier_(std::numeric_limits<std::uint64_t>::max() / value), value_(value) {}

  constexpr std::uint32_t value() const { return value_; }
  constexpr std::uint32_t quotient(std::uint32_t number) const {
    const auto product = static_cast<Wide>(multiplier_) * (std::uint64_t{number} + 1);
    return static_cast<std::uint32_t>(product >> 64);
  }
  constexpr std::uint32_t remainder(std::uint32_t number) const {
    return number - quotient(number) * value_;
  }

 private:
  std::uint64_t multiplier_ = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t value_ = 1;
};

}  // namespace tessera
