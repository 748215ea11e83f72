// When the host of a serving system has something to do by itself: what it says to itself.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "serving/messages.hpp"
#include "tessera/core/time.hpp"

namespace tessera::executor {

class HostCalls {
 public:
  // From now on they are kept.
  void keep() { is_kept_ = true; }
  void add(HostCall call, SimTime time) {
    if (is_kept_) {
      times_[place(call)].insert(time);
    }
  }
  void remove(HostCall call, SimTime time) {
    if (const auto found = times_[place(call)].find(time); found != times_[place(call)].end()) {
      times_[place(call)].erase(found);
    }
  }
  // Some are under way that nobody told of: those of a checkpoint.
  void forget() { are_known_ = false; }

  bool are_known() const { return are_known_; }
  std::optional<SimTime> earliest(HostCall call) const {
    const std::multiset<SimTime>& times = times_[place(call)];
    return times.empty() ? std::nullopt : std::optional(*times.begin());
  }
  std::optional<SimTime> earliest() const {
    std::optional<SimTime> first;
    for (const std::multiset<SimTime>& times : times_) {
      if (!times.empty() && (!first || *times.begin() < *first)) {
        first = *times.begin();
      }
    }
    return first;
  }

 private:
  static std::size_t place(HostCall call) { return static_cast<std::size_t>(call); }

  bool is_kept_ = false;
  bool are_known_ = true;
  std::array<std::multiset<SimTime>, 4> times_;  // [HostCall]
};

}  // namespace tessera::executor
