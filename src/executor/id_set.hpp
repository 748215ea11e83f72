// Numbers of nodes that are over. Traces number their nodes nearly in the order in which they run,
// so that few intervals hold them all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::executor {

class IdSet {
 public:
  struct Interval {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
  };

  bool contains(std::uint64_t id) const {
    const auto after = behind(id);
    return after != intervals_.begin() && id <= (after - 1)->last;
  }
  // False when it was there before.
  bool insert(std::uint64_t id) {
    const auto after = intervals_.begin() + (behind(id) - intervals_.begin());
    const bool has_before = after != intervals_.begin();
    if (has_before && id <= (after - 1)->last) {
      return false;
    }
    const bool joins_before = has_before && (after - 1)->last + 1 == id;
    const bool joins_after = after != intervals_.end() && id + 1 == after->first;
    if (joins_before && joins_after) {
      (after - 1)->last = after->last;
      intervals_.erase(after);
    } else if (joins_before) {
      (after - 1)->last = id;
    } else if (joins_after) {
      after->first = id;
    } else {
      intervals_.insert(after, {id, id});
    }
    return true;
  }

  const std::vector<Interval>& intervals() const { return intervals_; }
  void restore(std::vector<Interval> intervals) { intervals_ = std::move(intervals); }

 private:
  // The first interval that begins after `id`.
  std::vector<Interval>::const_iterator behind(std::uint64_t id) const {
    return std::upper_bound(
        intervals_.begin(), intervals_.end(), id,
        [](std::uint64_t number, const Interval& interval) { return number < interval.first; });
  }

  std::vector<Interval> intervals_;  // ascending, apart by more than one
};

}  // namespace tessera::executor
