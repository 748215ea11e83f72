#include "tessera/core/portable_math.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {

// log(2^e m) = e log 2 + 2 artanh z, z = (m - 1)/(m + 1), with m in [sqrt(1/2), sqrt(2)], hence
// z^2 < 0.0295 and twelve terms of the series of artanh leave less than 2^-60.
double portable_log(double x) {
  constexpr double log_of_two = 0x1.62e42fefa39efp-1;
  constexpr double square_root_of_half = 0x1.6a09e667f3bcdp-1;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < square_root_of_half) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double series = 0;
  for (int power = 23; power >= 1; power -= 2) {
    series = series * square + 1.0 / power;
  }
  return exponent * log_of_two + 2 * z * series;
}

// e^x = 2^n e^r with r in [-log(2)/2, log(2)/2], of which sixteen terms leave less than 2^-60.
double portable_exp(double x) {
  constexpr double log_of_two = 0x1.62e42fefa39efp-1;
  constexpr double most = 700;
  if (x < -most) {
    return 0;
  }
  x = std::min(x, most);
  const double whole = std::floor(x / log_of_two + 0.5);
  const double rest = x - whole * log_of_two;
  double series = 1;
  for (int term = 16; term >= 1; --term) {
    series = 1 + series * rest / term;
  }
  return std::ldexp(series, static_cast<int>(whole));
}

// Turns are folded into [0, 1/4], where fourteen terms of the series leave less than 2^-60.
double portable_cosine_of_turns(double x) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  double turns = std::abs(x - std::floor(x + 0.5));  // in [0, 1/2], as the cosine is even
  const bool is_negative = turns > 0.25;
  if (is_negative) {
    turns = 0.5 - turns;
  }
  const double angle = 2 * pi * turns;
  const double square = angle * angle;
  double series = 1;
  for (int term = 26; term >= 2; term -= 2) {
    series = 1 - series * square / (term * (term - 1));
  }
  return is_negative ? -series : series;
}

}  // namespace tessera
