// Which events are kept when there are more than are wanted: the earliest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::trace {

// All events are offered, then each asks once more to be let in, in any order. What is kept is
// complete up to one instant, over all tiles and ranks. Memory: 8 bytes an event kept.
class EventBudget {
 public:
  // `limit` is positive.
  explicit EventBudget(std::uint64_t limit) : limit_(limit) {}

  void offer(std::int64_t start_ps) {
    ++offered_;
    if (earliest_.size() < limit_) {
      earliest_.push_back(start_ps);
      std::push_heap(earliest_.begin(), earliest_.end());
    } else if (start_ps < earliest_.front()) {
      std::pop_heap(earliest_.begin(), earliest_.end());
      earliest_.back() = start_ps;
      std::push_heap(earliest_.begin(), earliest_.end());
    }
  }

  // After the last offer. Not needed when fewer than `limit` events are to come.
  void settle() {
    if (offered_ > limit_) {
      limit_ps_ = earliest_.front();
      room_at_limit_ = static_cast<std::uint64_t>(
          std::count(earliest_.begin(), earliest_.end(), earliest_.front()));
    }
    earliest_ = {};
  }

  bool admit(std::int64_t start_ps) {
    if (start_ps < limit_ps_) {
      return true;
    }
    if (start_ps == limit_ps_ && room_at_limit_ > 0) {
      --room_at_limit_;
      return true;
    }
    ++left_out_;
    return false;
  }

  std::uint64_t left_out() const { return left_out_; }
  // All events that start before it are kept.
  SimTime complete_until() const { return SimTime::from_ps(limit_ps_); }

 private:
  static constexpr std::int64_t no_limit = SimTime::never().ps();

  std::uint64_t limit_;
  std::uint64_t offered_ = 0;
  std::uint64_t left_out_ = 0;
  std::vector<std::int64_t> earliest_;  // a heap, the latest in front
  std::int64_t limit_ps_ = no_limit;
  std::uint64_t room_at_limit_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace tessera::trace
