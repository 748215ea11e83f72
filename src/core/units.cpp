#include "tessera/core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <limits>

#include "decimal.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/range_error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000;
constexpr Wide max_ps = static_cast<Wide>(SimTime::never().ps()) - 1;

// Of `amount` at `rate` a second; 0: not known.
SimTime checked(Wide ps, std::uint64_t amount, std::uint64_t rate) {
  if (ps > max_ps) {
    throw DurationTooLong(std::string("a duration leaves the range of ") + range_of_time, amount,
                          rate);
  }
  return SimTime::from_ps(static_cast<std::int64_t>(ps));
}

std::uint64_t narrowed(Wide value, const char* what) {
  if (value > std::numeric_limits<std::uint64_t>::max()) {
    throw ModelError(std::string(what) + " leaves the range of 2^64");
  }
  return static_cast<std::uint64_t>(value);
}

// Of a rate and a share; rates are whole numbers, and nothing moves at one of zero.
template <class Rate>
void refuse_nothing_left(Wide millionths, Rate rate, Fraction share) {
  if (millionths > 0 && millionths < Fraction::one) {
    throw ConfigError("of a rate of " + to_string(rate) +
                      " less than one a second is left by the factor " +
                      std::to_string(share.value()));
  }
}

// "1.5 T" + unit: the largest prefix that keeps the number at or above one.
std::string with_prefix(std::uint64_t value, const char* unit) {
  struct Prefix {
    std::uint64_t scale;
    const char* letter;
  };
  constexpr std::array<Prefix, 7> prefixes{{{1'000'000'000'000'000'000ULL, "E"},
                                            {1'000'000'000'000'000ULL, "P"},
                                            {1'000'000'000'000ULL, "T"},
                                            {1'000'000'000ULL, "G"},
                                            {1'000'000ULL, "M"},
                                            {1'000ULL, "k"},
                                            {1ULL, ""}}};
  const Prefix* prefix = prefixes.data();
  while (prefix->scale > 1 && value < prefix->scale) {
    ++prefix;
  }
  return decimal_text(value, prefix->scale) + " " + prefix->letter + unit;
}

}  // namespace

SimTime Clock::time_of_cycle(std::uint64_t n) const {
  ensure(frequency_ > 0, "a clock without a frequency");
  return checked(static_cast<Wide>(n) * ps_per_second / frequency_, n, frequency_);
}

SimTime rounded_up_duration(std::uint64_t numerator, std::uint64_t scale,
                            std::uint64_t denominator) {
  ensure(denominator > 0, "a rate of zero");
  const std::uint64_t rate = scale == ps_per_second ? denominator : 0;
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(numerator, scale, &product)) {
    return checked(product / denominator + (product % denominator != 0 ? 1 : 0), numerator, rate);
  }
  const Wide wide = static_cast<Wide>(numerator) * scale;
  return checked((wide + denominator - 1) / denominator, numerator, rate);
}

Bytes bytes_in(SimTime span, Bandwidth bandwidth) {
  if (span.ps() <= 0) {
    return Bytes(0);
  }
  const Wide bytes =
      static_cast<Wide>(span.ps()) * bandwidth.bytes_per_second() / 1'000'000'000'000ULL;
  return Bytes(narrowed(bytes, "a number of bytes"));
}

FlopRate scaled(FlopRate rate, Fraction share) {
  const Wide product = static_cast<Wide>(rate.flops_per_second()) * share.millionths();
  refuse_nothing_left(product, rate, share);
  return FlopRate::flops_per_second(narrowed(product / Fraction::one, "a compute rate"));
}

Bandwidth scaled(Bandwidth rate, Fraction share) {
  const Wide product = static_cast<Wide>(rate.bytes_per_second()) * share.millionths();
  refuse_nothing_left(product, rate, share);
  return Bandwidth::bytes_per_second(narrowed(product / Fraction::one, "a bandwidth"));
}

std::string to_string(Bytes bytes) {
  constexpr std::array<const char*, 5> binary{"B", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t value = bytes.count();
  std::size_t power = 0;
  while (power + 1 < binary.size() && value >= 1024 && value % 1024 == 0) {
    value /= 1024;
    ++power;
  }
  if (power == 0 && value >= 1000) {
    return with_prefix(value, "B");
  }
  return fmt::format("{} {}", value, binary[power]);
}

std::string to_string(Bandwidth bandwidth) {
  return with_prefix(bandwidth.bytes_per_second(), "B/s");
}
std::string to_string(Flops flops) {
  return with_prefix(flops.count(), "FLOP");
}
std::string to_string(FlopRate rate) {
  return with_prefix(rate.flops_per_second(), "FLOP/s");
}
std::string to_string(Clock clock) {
  return with_prefix(clock.frequency_hz(), "Hz");
}
std::string to_string(Fraction fraction) {
  return format_number(fraction.value());
}

std::string to_short_string(Bytes bytes) {
  constexpr std::array<const char*, 7> names{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t name = 0;
  for (; value >= 999.5 && name + 1 < names.size(); ++name) {
    value /= 1000;
  }
  return fmt::format("{:.3g} {}", value, names[name]);
}

}  // namespace tessera
