#include "decimal.hpp"

#include <algorithm>
#include <limits>
#include "characters.hpp"

namespace tessera::config {
namespace {

constexpr int exponent_limit = 1'000'000;
constexpr Digits most_digits = ~Digits{0};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Decimal> read() {
    sign(number_.negative);
    bool any = whole_digits();
    if (peek() == '.' && (any || is_digit(peek(1)))) {
      ++number_.length;
      any = fraction_digits() || any;
    }
    if (!any) {
      return std::nullopt;
    }
    exponent();
    number_.exponent = std::clamp(number_.exponent + zeros_, -exponent_limit, exponent_limit);
    return number_;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    const std::size_t at = number_.length + ahead;
    return at < text_.size() ? text_[at] : '\0';
  }

  void sign(bool& negative) {
    if (peek() == '-' || peek() == '+') {
      negative = peek() == '-';
      ++number_.length;
    }
  }

  // The next digit; steps over one '_' between digits.
  std::optional<int> next_digit(bool after_digit) {
    if (after_digit && peek() == '_' && is_digit(peek(1))) {
      ++number_.length;
    }
    if (!is_digit(peek())) {
      return std::nullopt;
    }
    const int digit = peek() - '0';
    ++number_.length;
    return digit;
  }

  // Zeros are held back in `zeros_`, so that trailing ones only count in the exponent.
  void take(int digit) {
    if (digit == 0) {
      zeros_ += number_.digits != 0 && zeros_ < exponent_limit ? 1 : 0;
      return;
    }
    for (; zeros_ > 0 && number_.precise; --zeros_) {
      append(0);
    }
    append(digit);
  }

  void append(int digit) {
    const auto value = static_cast<Digits>(digit);
    if (!number_.precise || number_.digits > (most_digits - value) / 10) {
      number_.precise = false;
      return;
    }
    number_.digits = number_.digits * 10 + value;
  }

  bool whole_digits() {
    bool any = false;
    while (const std::optional<int> digit = next_digit(any)) {
      take(*digit);
      any = true;
    }
    return any;
  }

  bool fraction_digits() {
    bool any = false;
    while (const std::optional<int> digit = next_digit(any)) {
      take(*digit);
      number_.exponent -= number_.exponent > -exponent_limit ? 1 : 0;
      any = true;
    }
    return any;
  }

  void exponent() {
    const bool has_sign = peek(1) == '-' || peek(1) == '+';
    if ((peek() != 'e' && peek() != 'E') || !is_digit(peek(has_sign ? 2 : 1))) {
      return;
    }
    ++number_.length;
    bool negative = false;
    sign(negative);
    int value = 0;
    while (const std::optional<int> digit = next_digit(false)) {
      value = std::min(value * 10 + *digit, exponent_limit);
    }
    number_.exponent += negative ? -value : value;
  }

  std::string_view text_;
  Decimal number_;
  int zeros_ = 0;
};

// Multiplies `value` by `factor` `times` times; false on overflow.
bool multiply(Digits& value, unsigned factor, int times) {
  for (; times > 0; --times) {
    if (value > most_digits / factor) {
      return false;
    }
    value *= factor;
  }
  return true;
}

// Divides `value` by `factor` at most `times` times while nothing is lost; returns the times left.
int divide(Digits& value, unsigned factor, int times) {
  while (times > 0 && value % factor == 0) {
    value /= factor;
    --times;
  }
  return times;
}

}  // namespace

std::optional<Decimal> read_decimal(std::string_view text) {
  return Reader(text).read();
}

Scaled scale(const Decimal& number, int power_of_10, int power_of_2) {
  Digits value = number.digits;
  if (value == 0) {
    return {Scaled::Status::exact, 0};
  }
  const int fives = number.exponent + power_of_10;
  const int twos = fives + power_of_2;
  // 2 and 5 have no common factor: dividing first loses nothing and keeps the numbers small.
  int fives_left = divide(value, 5, std::max(-fives, 0));
  int twos_left = divide(value, 2, std::max(-twos, 0));
  const bool exact = fives_left == 0 && twos_left == 0;
  const Scaled out_of_reach{exact ? Scaled::Status::too_large : Scaled::Status::rounded,
                            std::nullopt};
  if (!multiply(value, 5, fives) || !multiply(value, 2, twos)) {
    return out_of_reach;
  }
  for (; fives_left > 0 && value > 0; --fives_left) {
    value /= 5;
  }
  for (; twos_left > 0 && value > 0; --twos_left) {
    value /= 2;
  }
  if (value > std::numeric_limits<std::uint64_t>::max()) {
    return out_of_reach;
  }
  return {exact ? Scaled::Status::exact : Scaled::Status::rounded,
          static_cast<std::uint64_t>(value)};
}

}  // namespace tessera::config
