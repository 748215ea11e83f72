// Which window a time falls into.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::pdes {

using WindowNumber = std::int64_t;
inline constexpr WindowNumber no_window = std::numeric_limits<WindowNumber>::max();

// Windows of one width, from time zero.
//
// The division by the width is a multiplication: for a dividend below 2^63 and a divisor d with
// 2^(l-1) < d <= 2^l, floor(n / d) = floor(2n * m / 2^(64+l)) with m = floor(2^(63+l) / d) + 1
// (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994,
// doi:10.1145/178243.178249, theorem 4.2); m fits 64 bits.
class WindowClock {
 public:
  // `width` > 0.
  explicit WindowClock(SimTime width) : width_(width) {
    ensure(width > SimTime::zero() && !width.is_never(), "windows need some length");
    const auto divisor = static_cast<std::uint64_t>(width.ps());
    shift_ = static_cast<unsigned>(std::bit_width(divisor - 1));
    multiplier_ = static_cast<std::uint64_t>((static_cast<Wide>(1) << (63 + shift_)) / divisor) + 1;
  }

  SimTime width() const { return width_; }
  WindowNumber window_of(SimTime time) const {
    const auto doubled = static_cast<std::uint64_t>(time.ps()) * 2;
    const auto high = static_cast<std::uint64_t>((static_cast<Wide>(multiplier_) * doubled) >> 64);
    return static_cast<WindowNumber>(high >> shift_);
  }
  SimTime start_of(WindowNumber window) const {
    return window == no_window ? SimTime::never() : width_ * window;
  }

 private:
  SimTime width_;
  std::uint64_t multiplier_;
  unsigned shift_;
};

}  // namespace tessera::pdes
