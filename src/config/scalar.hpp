// Words and texts for each type a key may hold.
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::config {

// How messages speak of a type: "a whole number", "4".
struct TypeWords {
  const char* name;
  const char* example;
};
template <Readable T>
TypeWords words_for();

// True for the types that a quoted text cannot be: bool, numbers and Fraction.
template <Readable T>
inline constexpr bool never_quoted = std::same_as<T, bool> || std::same_as<T, std::int64_t> ||
                                     std::same_as<T, double> || std::same_as<T, Fraction>;

// The text that parse_as reads back as the same value (for SimTime::never(): "never", which it does
// not read).
std::string to_text(bool value);
std::string to_text(std::int64_t value);
std::string to_text(double value);
std::string to_text(const std::string& value);
std::string to_text(Bytes value);
std::string to_text(Bandwidth value);
std::string to_text(SimTime value);
std::string to_text(Clock value);
std::string to_text(Flops value);
std::string to_text(FlopRate value);
std::string to_text(Fraction value);

}  // namespace tessera::config
