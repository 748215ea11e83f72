// A time of which a lower bound and an estimate are known.
#pragma once

#include <algorithm>

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

inline Span longest(Span a, Span b) {
  return {std::max(a.least, b.least), std::max(a.likely, b.likely)};
}

}  // namespace tessera::explore
