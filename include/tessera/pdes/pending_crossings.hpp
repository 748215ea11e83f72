// What is under way in a region and will reach another one, for outlooks (outlook.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::pdes {

// Earliest times at which something under way reaches another region. An entry stands for an event
// that is pending, and is forgotten once that has been handled.
class PendingCrossings {
 public:
  // The event at `time` will cross at `crossing` or later.
  void add(SimTime time, SimTime crossing) {
    if (entries_.size() >= room_) {
      drop_handled();
    }
    entries_.push_back({crossing, time});
    std::push_heap(entries_.begin(), entries_.end(), Later());
  }
  // All events before `time` have been handled.
  void reached(SimTime time) { handled_ = std::max(handled_, time); }
  // Earliest of those whose events are not before `next`.
  SimTime earliest(SimTime next) {
    while (!entries_.empty() && entries_.front().time < next) {
      std::pop_heap(entries_.begin(), entries_.end(), Later());
      entries_.pop_back();
    }
    return entries_.empty() ? SimTime::never() : entries_.front().crossing;
  }

 private:
  struct Entry {
    SimTime crossing;
    SimTime time;
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

}  // namespace tessera::pdes
