#include "tessera/explore/expression/rational.hpp"

#include <limits>
#include "expression/characters.hpp"

namespace tessera::explore {
namespace {

bool fits(SignedWide value) {
  // The lowest number is left out: it has no opposite.
  constexpr SignedWide most = std::numeric_limits<std::int64_t>::max();
  return value >= -most && value <= most;
}

SignedWide greatest_common_divisor(SignedWide a, SignedWide b) {
  while (b != 0) {
    const SignedWide rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

// Digits of a decimal number, read from the front of `text`.
struct Digits {
  SignedWide value = 0;
  std::size_t count = 0;   // of digits
  std::size_t length = 0;  // of characters
  bool too_long = false;
};

Digits read_digits(std::string_view text, SignedWide before, bool with_gaps) {
  constexpr SignedWide most = SignedWide{1} << 120;
  Digits digits{before, 0, 0, false};
  for (; digits.length < text.size(); ++digits.length) {
    const char c = text[digits.length];
    if (with_gaps && c == '_' && digits.count > 0 && digits.length + 1 < text.size() &&
        is_digit(text[digits.length + 1])) {
      continue;
    }
    if (!is_digit(c)) {
      break;
    }
    digits.value = digits.value * 10 + (c - '0');
    digits.too_long = digits.too_long || digits.value > most;
    if (digits.too_long) {
      digits.value = 0;
    }
    ++digits.count;
  }
  return digits;
}

std::optional<Rational> scaled_by_ten(Rational value, int power) {
  std::optional<Rational> result = value;
  for (; power > 0 && result; --power) {
    result = multiply(*result, Rational(10));
  }
  for (; power < 0 && result; ++power) {
    result = divide(*result, Rational(10));
  }
  return result;
}

}  // namespace

std::optional<Rational> Rational::make(SignedWide numerator, SignedWide denominator) {
  if (denominator == 0) {
    return std::nullopt;
  }
  const SignedWide divisor = greatest_common_divisor(numerator, denominator);
  numerator /= denominator < 0 ? -divisor : divisor;
  denominator /= denominator < 0 ? -divisor : divisor;
  if (!fits(numerator) || !fits(denominator)) {
    return std::nullopt;
  }
  Rational result(static_cast<std::int64_t>(numerator));
  result.denominator_ = static_cast<std::int64_t>(denominator);
  return result;
}

std::optional<Rational> Rational::parse(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  text.remove_prefix(negative ? 1 : 0);
  const Digits whole = read_digits(text, 0, true);
  text.remove_prefix(whole.length);
  Digits part{whole.value, 0, 0, false};
  if (!text.empty() && text.front() == '.') {
    part = read_digits(text.substr(1), whole.value, false);
    text.remove_prefix(1 + part.length);
  }
  if (whole.count == 0 || whole.too_long || part.too_long) {
    return std::nullopt;
  }
  int exponent = 0;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    const bool down = !text.empty() && text.front() == '-';
    text.remove_prefix(!text.empty() && (down || text.front() == '+') ? 1 : 0);
    const Digits power = read_digits(text, 0, false);
    if (power.count == 0 || power.count > 2) {
      return std::nullopt;
    }
    exponent = static_cast<int>(power.value) * (down ? -1 : 1);
    text.remove_prefix(power.length);
  }
  if (!text.empty()) {
    return std::nullopt;
  }
  SignedWide unit = 1;
  for (std::size_t i = 0; i < part.count; ++i) {
    if (unit > (SignedWide{1} << 120)) {
      return std::nullopt;
    }
    unit *= 10;
  }
  const std::optional<Rational> value = make(negative ? -part.value : part.value, unit);
  return value ? scaled_by_ten(*value, exponent) : std::nullopt;
}

std::optional<Rational> add(const Rational& a, const Rational& b) {
  return Rational::make(
      SignedWide{a.numerator_} * b.denominator_ + SignedWide{b.numerator_} * a.denominator_,
      SignedWide{a.denominator_} * b.denominator_);
}

std::optional<Rational> subtract(const Rational& a, const Rational& b) {
  return Rational::make(
      SignedWide{a.numerator_} * b.denominator_ - SignedWide{b.numerator_} * a.denominator_,
      SignedWide{a.denominator_} * b.denominator_);
}

std::optional<Rational> multiply(const Rational& a, const Rational& b) {
  return Rational::make(SignedWide{a.numerator_} * b.numerator_,
                        SignedWide{a.denominator_} * b.denominator_);
}

std::optional<Rational> divide(const Rational& a, const Rational& b) {
  return Rational::make(SignedWide{a.numerator_} * b.denominator_,
                        SignedWide{a.denominator_} * b.numerator_);
}

bool operator<(const Rational& a, const Rational& b) {
  return SignedWide{a.numerator_} * b.denominator_ < SignedWide{b.numerator_} * a.denominator_;
}

std::string Rational::to_string() const {
  // A decimal ends when the denominator has no factors but 2 and 5.
  std::int64_t rest = denominator_;
  int places = 0;
  SignedWide numerator = numerator_;
  while (rest > 1 && places < 18) {
    const std::int64_t factor = rest % 10 == 0 ? 10 : rest % 5 == 0 ? 5 : rest % 2 == 0 ? 2 : 0;
    if (factor == 0) {
      break;
    }
    rest /= factor;
    numerator *= 10 / factor;
    ++places;
  }
  if (rest > 1 || !fits(numerator)) {
    return std::to_string(numerator_) + "/" + std::to_string(denominator_);
  }
  std::string digits =
      std::to_string(static_cast<std::int64_t>(numerator < 0 ? -numerator : numerator));
  if (places > 0) {
    const auto decimals = static_cast<std::size_t>(places);
    digits.insert(0, digits.size() <= decimals ? decimals + 1 - digits.size() : 0, '0');
    digits.insert(digits.size() - decimals, ".");
  }
  return (numerator < 0 ? "-" : "") + digits;
}

}  // namespace tessera::explore
