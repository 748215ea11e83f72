#include "numbers.hpp"

#include <cmath>

namespace tessera::migration {

std::optional<std::uint64_t> rounded(double value, std::uint64_t least) {
  constexpr double most = 9.2e18;  // below 2^63
  const double whole = std::round(value);
  if (!(whole >= static_cast<double>(least)) || whole > most) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(whole);
}

std::optional<Bandwidth> bandwidth_of(double value, double unit) {
  const auto rate = rounded(value * unit, 1);
  return rate ? std::optional(Bandwidth::bytes_per_second(*rate)) : std::nullopt;
}

std::optional<SimTime> time_of(double value, double unit_ps) {
  const auto ps = value < 0 ? std::nullopt : rounded(value * unit_ps, 0);
  return ps ? std::optional(SimTime::from_ps(static_cast<std::int64_t>(*ps))) : std::nullopt;
}

std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 63U) - 1;
  std::uint64_t result = 1;
  for (const std::uint64_t factor : factors) {
    if (factor != 0 && result > most / factor) {
      return std::nullopt;
    }
    result *= factor;
  }
  return result;
}

std::optional<WholePeriod> period_of(double megahertz) {
  constexpr double ps_of_a_megahertz = 1e6;
  const double ps = std::floor(ps_of_a_megahertz / megahertz);
  if (!(megahertz > 0) || !(ps >= 1) || ps > 1e12) {
    return std::nullopt;
  }
  const auto period = static_cast<std::int64_t>(ps);
  const auto whole = static_cast<std::uint64_t>(period);
  return WholePeriod{period, Clock::hertz((ps_per_second + whole / 2) / whole)};
}

}  // namespace tessera::migration
