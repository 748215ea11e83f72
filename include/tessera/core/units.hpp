// Quantities with their unit in the type, and the few mixed operations between them.
//
// Every duration is computed in integers (128-bit intermediates) and rounded up once, so that a
// result does not depend on the processor or on the order of evaluation.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "tessera/core/time.hpp"

namespace tessera {

// A count of bytes [B], never negative.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::uint64_t count) : count_(count) {}
  constexpr std::uint64_t count() const { return count_; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return Bytes(a.count_ * n); }
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }

 private:
  std::uint64_t count_ = 0;
};

// A rate of data [B/s], decimal: 1 GB/s is 10^9 B/s.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bytes_per_second(std::uint64_t rate) { return Bandwidth(rate); }
  constexpr std::uint64_t bytes_per_second() const { return rate_; }
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;

 private:
  explicit constexpr Bandwidth(std::uint64_t rate) : rate_(rate) {}
  std::uint64_t rate_ = 0;
};

// A number of floating-point (or integer) operations; a multiply-add counts as two [FLOP].
class Flops {
 public:
  constexpr Flops() = default;
  explicit constexpr Flops(std::uint64_t count) : count_(count) {}
  constexpr std::uint64_t count() const { return count_; }
  friend constexpr auto operator<=>(Flops, Flops) = default;
  friend constexpr Flops operator+(Flops a, Flops b) { return Flops(a.count_ + b.count_); }
  constexpr Flops& operator+=(Flops b) { return *this = *this + b; }

 private:
  std::uint64_t count_ = 0;
};

// A rate of operations [FLOP/s].
class FlopRate {
 public:
  constexpr FlopRate() = default;
  static constexpr FlopRate flops_per_second(std::uint64_t rate) { return FlopRate(rate); }
  constexpr std::uint64_t flops_per_second() const { return rate_; }
  friend constexpr auto operator<=>(FlopRate, FlopRate) = default;

 private:
  explicit constexpr FlopRate(std::uint64_t rate) : rate_(rate) {}
  std::uint64_t rate_ = 0;
};

// A clock domain [Hz].
class Clock {
 public:
  constexpr Clock() = default;
  static constexpr Clock hertz(std::uint64_t frequency) { return Clock(frequency); }
  constexpr std::uint64_t frequency_hz() const { return frequency_; }
  friend constexpr auto operator<=>(Clock, Clock) = default;

  // Start of cycle `n`: floor(n * 10^12 / f), so that 1.1 GHz does not drift. Throws ModelError
  // on overflow of SimTime.
  SimTime time_of_cycle(std::uint64_t n) const;

 private:
  explicit constexpr Clock(std::uint64_t frequency) : frequency_(frequency) {}
  std::uint64_t frequency_ = 0;
};

// A dimensionless share, kept as an exact number of millionths (0.85 is 850 000).
class Fraction {
 public:
  static constexpr std::uint64_t one = 1'000'000;
  constexpr Fraction() = default;
  static constexpr Fraction millionths(std::uint64_t n) { return Fraction(n); }
  constexpr std::uint64_t millionths() const { return millionths_; }
  constexpr double value() const { return static_cast<double>(millionths_) / one; }
  friend constexpr auto operator<=>(Fraction, Fraction) = default;

 private:
  explicit constexpr Fraction(std::uint64_t n) : millionths_(n) {}
  std::uint64_t millionths_ = one;
};

// ceil(numerator * scale / denominator) as picoseconds; throws ModelError on overflow and
// InternalError on a zero denominator. The one place where durations are rounded.
SimTime rounded_up_duration(std::uint64_t numerator, std::uint64_t scale,
                            std::uint64_t denominator);

// Time to put `size` on a wire of rate `bandwidth`: ceil(size / bandwidth).
inline SimTime serialization_time(Bytes size, Bandwidth bandwidth) {
  return rounded_up_duration(size.count(), 1'000'000'000'000ULL, bandwidth.bytes_per_second());
}

// Time to do `work` at `rate`: ceil(work / rate).
inline SimTime execution_time(Flops work, FlopRate rate) {
  return rounded_up_duration(work.count(), 1'000'000'000'000ULL, rate.flops_per_second());
}

// Bytes that `bandwidth` moves in `span`, rounded down.
Bytes bytes_in(SimTime span, Bandwidth bandwidth);

// `rate` times `share`, rounded down.
FlopRate scaled(FlopRate rate, Fraction share);
Bandwidth scaled(Bandwidth rate, Fraction share);

// Shortest exact decimal with a decimal unit: "256 GB/s", "1.5 TFLOP/s", "48 KiB", "1.1 GHz".
std::string to_string(Bytes bytes);
std::string to_string(Bandwidth bandwidth);
std::string to_string(Flops flops);
std::string to_string(FlopRate rate);
std::string to_string(Clock clock);
std::string to_string(Fraction fraction);

// Three digits for people: "81.9 GB".
std::string to_short_string(Bytes bytes);

}  // namespace tessera
