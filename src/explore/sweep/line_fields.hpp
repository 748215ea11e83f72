// Lines of text that ranks send each other, and that folders keep: their fields, and numbers in
// them.
#pragma once

#include <charconv>
#include <string>
#include <system_error>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::explore {

inline constexpr char field_separator = '\t';

// The parts between separators.
std::vector<std::string> split(const std::string& text, char separator);

// As one field: blanks in place of ends of lines and of separators.
std::string as_field(std::string text);

// Throws ConfigError for what is no number.
template <class Number>
Number number_from(const std::string& text) {
  Number number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw ConfigError("'" + text + "' is no number");
  }
  return number;
}

}  // namespace tessera::explore
