// Exact fractions, so that a constraint never fails by a rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/core/wide.hpp"

namespace tessera::explore {

// A fraction in lowest terms, its denominator above zero. Operations give nothing when the result
// cannot be written with 64-bit integers, or is none (division by zero).
class Rational {
 public:
  constexpr Rational() = default;
  explicit constexpr Rational(std::int64_t integer) : numerator_(integer) {}
  static std::optional<Rational> make(SignedWide numerator, SignedWide denominator);
  // "12", "-3", "0.25", "1e6" (digits, a point, an exponent of at most two digits; `_` between
  // digits of whole numbers); nothing for any other text.
  static std::optional<Rational> parse(std::string_view text);

  std::int64_t numerator() const { return numerator_; }
  std::int64_t denominator() const { return denominator_; }
  bool is_integer() const { return denominator_ == 1; }

  friend std::optional<Rational> add(const Rational& a, const Rational& b);
  friend std::optional<Rational> subtract(const Rational& a, const Rational& b);
  friend std::optional<Rational> multiply(const Rational& a, const Rational& b);
  friend std::optional<Rational> divide(const Rational& a, const Rational& b);
  friend bool operator==(const Rational&, const Rational&) = default;
  friend bool operator<(const Rational& a, const Rational& b);

  // "12", "0.25"; "1/3" where no decimal is exact.
  std::string to_string() const;

 private:
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

std::optional<Rational> add(const Rational& a, const Rational& b);
std::optional<Rational> subtract(const Rational& a, const Rational& b);
std::optional<Rational> multiply(const Rational& a, const Rational& b);
std::optional<Rational> divide(const Rational& a, const Rational& b);

}  // namespace tessera::explore
