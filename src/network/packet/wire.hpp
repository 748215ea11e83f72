// The wire of a directed link, which carries one packet at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::network {

// 32 bytes for each directed link. The wire is free at exactly free_at - remainder / denominator of
// its class: fractions of a picosecond are carried from packet to packet, so that a message cut in
// many takes no longer than in one.
struct LinkState {
  SimTime free_at;
  std::int64_t busy_ps = 0;  // total time booked, including what is still to come
  std::uint64_t bytes = 0;   // total booked
  std::uint32_t remainder = 0;
  float longest_wait_ps = 0;  // for the report of queues only, where 24 bits are plenty
};
static_assert(sizeof(LinkState) == 32);

// Of so many bytes, in one packet or many: never more than the time that a wire books.
inline SimTime floor_time(Bytes bytes, Bandwidth bandwidth) {
  const SimTime rounded_up = serialization_time(bytes, bandwidth);
  return rounded_up > SimTime::zero() ? rounded_up - SimTime::from_ps(1) : rounded_up;
}

// When a packet is on a wire.
struct WireTimes {
  SimTime start;
  SimTime end;
};

// A link class with the time of a byte as a reduced fraction of picoseconds.
class WireClass {
 public:
  // Time of one packet: whole + part / denominator [ps].
  struct Duration {
    std::int64_t whole = 0;
    std::uint32_t part = 0;
  };

  explicit WireClass(const machine::LinkClass& link_class) : latency_(link_class.latency) {
    constexpr std::uint64_t ps_per_second = 1'000'000'000'000ULL;
    constexpr std::uint64_t field = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t rate = link_class.bandwidth.bytes_per_second();
    // A rate whose fraction does not fit is cut to one that does: less than three parts in 10^9.
    for (std::uint64_t step = 10; rate / std::gcd(rate, ps_per_second) > field; step *= 10) {
      rate -= rate % step;
    }
    bandwidth_ = Bandwidth::bytes_per_second(rate);
    const std::uint64_t divisor = std::gcd(rate, ps_per_second);
    numerator_ = ps_per_second / divisor;
    denominator_ = static_cast<std::uint32_t>(rate / divisor);
    ratio_ = (static_cast<Wide>(numerator_) << 64) / denominator_;
  }

  SimTime latency() const { return latency_; }
  Bandwidth bandwidth() const { return bandwidth_; }
  std::uint32_t denominator() const { return denominator_; }
  // Multiplies by what the division by the denominator is in 2^-64: that lacks less than one for
  // each byte, so that the whole is short by one at most.
  Duration duration(std::uint32_t bytes) const {
    const Wide low = static_cast<Wide>(static_cast<std::uint64_t>(ratio_)) * bytes;
    const Wide high = static_cast<Wide>(static_cast<std::uint64_t>(ratio_ >> 64)) * bytes;
    auto whole = static_cast<std::uint64_t>(high + (low >> 64));
    // Less than twice the denominator, which 64 bits tell whatever the product.
    std::uint64_t part = numerator_ * bytes - whole * denominator_;
    if (part >= denominator_) {
      ++whole;
      part -= denominator_;
    }
    return {static_cast<std::int64_t>(whole), static_cast<std::uint32_t>(part)};
  }

  // Books the next packet, whose head has come `now` and whose tail comes at `tail_in`: it starts
  // when the wire is free, and holds it until it has passed through.
  WireTimes book(LinkState& state, std::uint32_t bytes, SimTime now, SimTime tail_in) const {
    const Duration needed = duration(bytes);
    SimTime start = state.free_at;
    if (now > start) {  // the wire was idle; else it goes on without a gap
      start = now;
      state.remainder = 0;
    }
    SimTime end = start + SimTime::from_ps(needed.whole);
    if (needed.part > state.remainder) {
      end += SimTime::from_ps(1);
      state.remainder += denominator_ - needed.part;
    } else {
      state.remainder -= needed.part;
    }
    if (tail_in > end) {
      end = tail_in;
      state.remainder = 0;
    }
    state.busy_ps += (end - start).ps();
    state.bytes += bytes;
    state.free_at = end;
    const auto wait = static_cast<float>((start - now).ps());
    state.longest_wait_ps = std::max(state.longest_wait_ps, wait);
    return {start, end};
  }

 private:
  SimTime latency_;
  Bandwidth bandwidth_;
  std::uint64_t numerator_ = 0;
  std::uint32_t denominator_ = 1;
  Wide ratio_ = 0;  // numerator over denominator, in 2^-64
};

}  // namespace tessera::network
