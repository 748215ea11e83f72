// Quantities of sources, which are floating-point numbers in units of their own, as ours, which are
// whole: rounded to the nearest.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::migration {

inline constexpr std::uint64_t ps_per_second = 1'000'000'000'000ULL;

// None when it is below the least that can be meant, not finite or beyond what 63 bits hold.
std::optional<std::uint64_t> rounded(double value, std::uint64_t least);

// `unit` bytes a second or picoseconds.
std::optional<Bandwidth> bandwidth_of(double value, double unit);
std::optional<SimTime> time_of(double value, double unit_ps);

// A product of rates and counts; none beyond what 63 bits hold.
std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors);

// What runs with a period of whole picoseconds, rounded down, as simulators have it that keep time
// in them.
struct WholePeriod {
  std::int64_t ps = 1;
  Clock clock;
};
std::optional<WholePeriod> period_of(double megahertz);

}  // namespace tessera::migration
