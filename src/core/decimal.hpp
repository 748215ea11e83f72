// Exact decimal text of a count over a power of ten.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// "1.05" for 1050 over 1000, without trailing zeros. `scale` is a power of ten below 2^63. In
// integers, because a double holds only 53 bits of the 64.
inline std::string decimal_text(std::uint64_t value, std::uint64_t scale) {
  std::string text = std::to_string(value / scale);
  if (const std::uint64_t rest = value % scale; rest != 0) {
    // Adding the scale keeps the leading zeros; its own digit, the first, becomes the point.
    std::string decimals = std::to_string(scale + rest);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    decimals.front() = '.';
    text += decimals;
  }
  return text;
}

}  // namespace tessera
