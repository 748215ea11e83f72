#pragma once

#include "tessera/core/units.hpp"

namespace tessera {

// Times are whole picoseconds: of a faster clock, cycles would begin at the same one.
inline constexpr Clock fastest_clock = Clock::hertz(1'000'000'000'000ULL);

}  // namespace tessera
