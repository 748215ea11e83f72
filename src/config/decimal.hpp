// Exact decimal numbers as they stand in a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tessera/core/wide.hpp"

namespace tessera::config {

// Up to 38 significant digits fit.
using Digits = Wide;

// digits * 10^exponent, negative if marked so.
struct Decimal {
  bool negative = false;
  bool precise = true;     // false: more than 38 significant digits
  Digits digits = 0;       // without trailing zeros
  int exponent = 0;        // clamped to ±1000000
  std::size_t length = 0;  // characters read
};

// Reads [+-]digits[.digits][e[+-]digits] at the front of `text`; '_' may stand between digits. An
// 'e' without digits behind it is not read (it may begin a unit: "1 EB").
std::optional<Decimal> read_decimal(std::string_view text);

// The magnitude of a number in another unit, rounded down.
struct Scaled {
  enum class Status { exact, rounded, too_large };
  Status status = Status::exact;
  std::optional<std::uint64_t> value;  // of exact: always; of rounded: unless it is out of reach
};

// |number| * 10^power_of_10 * 2^power_of_2, in exact arithmetic.
Scaled scale(const Decimal& number, int power_of_10, int power_of_2);

}  // namespace tessera::config
