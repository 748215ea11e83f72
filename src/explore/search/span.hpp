// A time of which a lower bound and an estimate are known.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/core/time.hpp"

namespace tessera::explore {

// [ps] Not whole numbers: bounds are of sums of many.
struct Span {
  double least = 0;
  double likely = 0;

  static Span both(double time) { return {time, time}; }
  Span& operator+=(Span other) {
    least += other.least;
    likely += other.likely;
    return *this;
  }
  friend Span operator+(Span a, Span b) { return a += b; }
  friend Span operator-(Span a, Span b) { return {a.least - b.least, a.likely - b.likely}; }
  friend Span operator*(Span a, double times) { return {a.least * times, a.likely * times}; }
};

// The end of the range of times [ps]: what takes longer cannot win.
inline constexpr double end_of_times = 9.2e18;

inline SimTime time_of(double ps) {
  return SimTime::from_ps(static_cast<std::int64_t>(std::min(ps, end_of_times)));
}

inline Span longest(Span a, Span b) {
  return {std::max(a.least, b.least), std::max(a.likely, b.likely)};
}

}  // namespace tessera::explore
