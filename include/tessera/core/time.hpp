// Simulated time: a 64-bit count of picoseconds.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace tessera {

// A point in, or a span of, simulated time [ps]. Range 0 … 2^63-1 ps (about 106 days); a sum or
// product that leaves it throws ModelError, it never wraps. `SimTime::never()` is later than any
// event and absorbs addition.
class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime from_ps(std::int64_t ps) { return SimTime(ps); }
  static constexpr SimTime zero() { return SimTime(0); }
  static constexpr SimTime never() { return SimTime(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr bool is_never() const { return ps_ == never().ps_; }

  friend constexpr auto operator<=>(SimTime, SimTime) = default;

  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    // As unsigned numbers, `never`, an overflow and a negative sum are all at or above `never`.
    const auto sum = static_cast<std::uint64_t>(a.ps_) + static_cast<std::uint64_t>(b.ps_);
    if (sum >= static_cast<std::uint64_t>(never().ps_)) [[unlikely]] {
      return unusual_sum(a, b);
    }
    return SimTime(static_cast<std::int64_t>(sum));
  }
  // The result may be negative only as an intermediate; `never` minus anything finite is `never`.
  friend constexpr SimTime operator-(SimTime a, SimTime b) {
    return a.is_never() ? never() : SimTime(a.ps_ - b.ps_);
  }
  friend constexpr SimTime operator*(SimTime a, std::int64_t n) {
    std::int64_t product = 0;
    if (a.is_never()) {
      return never();
    }
    if (__builtin_mul_overflow(a.ps_, n, &product) || product == never().ps_) [[unlikely]] {
      overflow();
    }
    return SimTime(product);
  }
  constexpr SimTime& operator+=(SimTime b) { return *this = *this + b; }
  constexpr SimTime& operator-=(SimTime b) { return *this = *this - b; }

 private:
  explicit constexpr SimTime(std::int64_t ps) : ps_(ps) {}
  [[noreturn]] static void overflow();  // throws ModelError
  static constexpr SimTime unusual_sum(SimTime a, SimTime b) {
    std::int64_t sum = 0;
    if (a.is_never() || b.is_never()) {
      return never();
    }
    if (__builtin_add_overflow(a.ps_, b.ps_, &sum) || sum == never().ps_) {
      overflow();
    }
    return SimTime(sum);
  }

  std::int64_t ps_ = 0;
};

// "1.234567 ms": the largest unit that keeps the number at or above one, six decimals at most,
// every picosecond exact below 1 us. `never` prints as "never".
std::string to_string(SimTime time);

}  // namespace tessera
