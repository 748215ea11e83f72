#pragma once

#include <array>
#include <charconv>
#include <string>

namespace tessera::trace {

// So many digits that say something, without zeros at the end.
inline std::string digits(double value, int precision = 3) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::general, precision);
  return std::string(buffer.data(), result.ptr);
}

}  // namespace tessera::trace
