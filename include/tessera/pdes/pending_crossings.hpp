// What is under way in a region and will reach another one, for outlooks (outlook.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::pdes {

// Of an event that is pending, what its model may look at again: nothing.
struct NothingMore {};

// Earliest times at which something under way reaches another region. An entry stands for an event
// that is pending, and is forgotten once that has been handled.
template <class More>
class CrossingsWith {
 public:
  // The event at `time` will cross at `crossing` or later.
  void add(SimTime time, SimTime crossing, const More& more = {}) {
    if (entries_.size() >= room_) {
      drop_handled();
    }
    entries_.push_back({crossing, time, more});
    std::push_heap(entries_.begin(), entries_.end(), Later());
  }
  // All events before `time` have been handled.
  void reached(SimTime time) { handled_ = std::max(handled_, time); }
  // Earliest of those whose events are not before `next`.
  SimTime earliest(SimTime next) {
    return earliest(next, [](SimTime /*time*/, const More& /*more*/) { return SimTime::zero(); });
  }
  // `look_again(time, more)`: from when on an event at that time crosses, as far as is known by
  // now. Asked of those that come first.
  template <class LookAgain>
  SimTime earliest(SimTime next, const LookAgain& look_again) {
    while (!entries_.empty()) {
      const Entry first = entries_.front();
      const bool is_handled = first.time < next;
      const SimTime crossing = is_handled ? SimTime::zero() : look_again(first.time, first.more);
      if (!is_handled && crossing <= first.crossing) {
        return first.crossing;
      }
      std::pop_heap(entries_.begin(), entries_.end(), Later());
      if (is_handled) {
        entries_.pop_back();
      } else {
        entries_.back().crossing = crossing;
        std::push_heap(entries_.begin(), entries_.end(), Later());
      }
    }
    return SimTime::never();
  }

 private:
  struct Entry {
    SimTime crossing;
    SimTime time;
    [[no_unique_address]] More more;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const { return a.crossing > b.crossing; }
  };
  static constexpr std::size_t least_room = 256;

  // A rank that never waits never asks: entries are dropped when there are twice as many as were
  // kept the last time.
  void drop_handled() {
    std::erase_if(entries_, [this](const Entry& entry) { return entry.time < handled_; });
    std::make_heap(entries_.begin(), entries_.end(), Later());
    room_ = std::max(least_room, 2 * entries_.size());
  }

  std::vector<Entry> entries_;
  SimTime handled_;
  std::size_t room_ = least_room;
};

using PendingCrossings = CrossingsWith<NothingMore>;

}  // namespace tessera::pdes
