#include "scalar.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "decimal.hpp"
#include "excerpt.hpp"
#include "tessera/core/text.hpp"

namespace tessera::config {
namespace {

template <Readable T>
std::string not_a(std::string_view text) {
  return std::string("expected ") + words_for<T>().name + "; got " + excerpt(text);
}

std::string out_of_range(std::string_view text, bool negative) {
  using Limits = std::numeric_limits<std::int64_t>;
  return excerpt(text) + (negative ? " is too small; the least is " + std::to_string(Limits::min())
                                   : " is too large; the most is " + std::to_string(Limits::max()));
}

}  // namespace

template <>
TypeWords words_for<bool>() {
  return {"true or false", "true"};
}
template <>
TypeWords words_for<std::int64_t>() {
  return {"a whole number", "4"};
}
template <>
TypeWords words_for<double>() {
  return {"a number", "1.5"};
}
template <>
TypeWords words_for<std::string>() {
  return {"a text", "name"};
}

template <>
std::optional<bool> parse_as(std::string_view text, std::string& problem) {
  if (text == "true" || text == "false") {
    return text == "true";
  }
  problem = not_a<bool>(text);
  return std::nullopt;
}

template <>
std::optional<std::int64_t> parse_as(std::string_view text, std::string& problem) {
  const std::optional<Decimal> number = read_decimal(text);
  if (!number || number->length != text.size()) {
    problem = not_a<std::int64_t>(text);
    return std::nullopt;
  }
  const Scaled scaled = scale(*number, 0, 0);
  if (scaled.status == Scaled::Status::rounded) {
    problem = not_a<std::int64_t>(text);
    return std::nullopt;
  }
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (!number->precise || !scaled.value || *scaled.value > most + (number->negative ? 1 : 0)) {
    problem = out_of_range(text, number->negative);
    return std::nullopt;
  }
  // Negated as unsigned, where the magnitude 2^63 is no overflow.
  return static_cast<std::int64_t>(number->negative ? 0 - *scaled.value : *scaled.value);
}

template <>
std::optional<double> parse_as(std::string_view text, std::string& problem) {
  // The grammar is checked first: from_chars would also take "inf" and "nan".
  const std::optional<Decimal> number = read_decimal(text);
  if (!number || number->length != text.size()) {
    problem = not_a<double>(text);
    return std::nullopt;
  }
  std::string plain(text.substr(text.front() == '+' ? 1 : 0));
  std::erase(plain, '_');
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size()) {
    problem = excerpt(text) + " is out of the range of a 64-bit floating-point number";
    return std::nullopt;
  }
  return value;
}

template <>
std::optional<std::string> parse_as(std::string_view text, std::string&) {
  return std::string(text);
}

std::string to_text(bool value) {
  return value ? "true" : "false";
}
std::string to_text(std::int64_t value) {
  return std::to_string(value);
}
std::string to_text(double value) {
  return format_number(value);
}
std::string to_text(const std::string& value) {
  return value;
}

}  // namespace tessera::config
