// Who sends to whom in which step: schedules that are computed, not stored.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "models/draw.hpp"

namespace tessera::bench {

// dissemination       in round r, i sends to i + 2^r: a barrier
// binomial            a broadcast from process 0 along a binomial tree, and back up to it
// recursive-doubling  in round r, i and i xor 2^r exchange; needs a power of two
// random-pairs        in every step, pairs that are drawn anew exchange
enum class MessagePattern { dissemination, binomial, recursive_doubling, random_pairs };

// What a process does in a step.
struct Exchange {
  std::optional<std::uint32_t> to;
  std::optional<std::uint32_t> from;
};

class MessageSchedule {
 public:
  MessageSchedule() = default;
  MessageSchedule(MessagePattern pattern, std::uint32_t processes, std::uint64_t seed)
      : pattern_(pattern),
        processes_(processes),
        depth_(static_cast<unsigned>(std::bit_width(processes - 1))),
        seed_(mix64(seed)) {}

  // Steps of one iteration.
  unsigned rounds() const {
    switch (pattern_) {
      case MessagePattern::binomial:
        return 2 * depth_;
      case MessagePattern::random_pairs:
        return 1;
      default:
        return depth_;
    }
  }

  // `step` counts through all iterations, `round` through the current one.
  Exchange at(std::uint32_t self, std::uint64_t step, unsigned round) const {
    switch (pattern_) {
      case MessagePattern::dissemination:
        return {around(self, 1U << round), around(self, processes_ - (1U << round))};
      case MessagePattern::recursive_doubling:
        return {self ^ (1U << round), self ^ (1U << round)};
      case MessagePattern::binomial:
        return round < depth_ ? down(self, 1U << round) : up(self, 1U << (2 * depth_ - 1 - round));
      default:
        return pair(self, step);
    }
  }

 private:
  std::uint32_t around(std::uint32_t self, std::uint32_t distance) const {
    return static_cast<std::uint32_t>((std::uint64_t{self} + distance) % processes_);
  }

  // The first `distance` processes have the message and send it on.
  Exchange down(std::uint32_t self, std::uint32_t distance) const {
    Exchange exchange;
    if (self < distance && self + distance < processes_) {
      exchange.to = self + distance;
    } else if (self >= distance && self < 2 * distance) {
      exchange.from = self - distance;
    }
    return exchange;
  }
  Exchange up(std::uint32_t self, std::uint32_t distance) const {
    const Exchange exchange = down(self, distance);
    return {exchange.from, exchange.to};
  }

  // Those whose sum is one drawn number, modulo N, are a pair.
  Exchange pair(std::uint32_t self, std::uint64_t step) const {
    const std::uint64_t drawn = draw(seed_, EntityId(0), step);
    const std::uint32_t sum = below(static_cast<std::uint32_t>(drawn >> 32), processes_);
    const std::uint32_t other = around(sum, processes_ - self);
    if (other == self) {
      return {};
    }
    return {other, other};
  }

  MessagePattern pattern_ = MessagePattern::dissemination;
  std::uint32_t processes_ = 0;
  unsigned depth_ = 0;  // log2 of the processes, rounded up
  std::uint64_t seed_ = 0;
};

}  // namespace tessera::bench
