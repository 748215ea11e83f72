// Which nodes of a grid's rows or columns are of this rank's region, as runs.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::network {

// Lines in order, each with the runs of its places that belong. A region has few in a line, so that
// all lie in cache.
class OwnedRuns {
 public:
  // `is_here(line, place)`; where lines wrap, the first place of each follows its last one.
  template <class IsHere>
  OwnedRuns(std::uint32_t lines, std::uint32_t places, bool wraps, const IsHere& is_here)
      : places_(wraps ? places : 0) {
    for (std::uint32_t line = 0; line < lines; ++line) {
      for (std::uint32_t place = 0; place < places; ++place) {
        if (!is_here(line, place)) {
          continue;
        }
        if (place == 0 || !is_here(line, place - 1)) {
          runs_.push_back({place, place});
        }
        runs_.back().last = place;
      }
      ends_.push_back(static_cast<std::uint32_t>(runs_.size()));
    }
  }
  OwnedRuns() = default;

  // Places beyond this one, which belongs, until one that does not; as many as a line has where all
  // of one that wraps belong.
  std::uint32_t beyond(std::uint32_t line, std::uint32_t place, bool upwards) const {
    const std::uint32_t begin = line == 0 ? 0 : ends_[line - 1];
    const Run* run = &runs_[begin];
    while (run->last < place) {
      ++run;
    }
    const std::uint32_t ahead = upwards ? run->last - place : place - run->first;
    if (places_ == 0) {
      return ahead;
    }
    const Run& first = runs_[begin];
    const Run& last = runs_[ends_[line] - 1];
    if (first.first != 0 || last.last + 1 != places_) {
      return ahead;
    }
    if (first.last + 1 == places_) {
      return places_;
    }
    if (upwards) {
      return run == &last ? ahead + first.last + 1 : ahead;
    }
    return run == &first ? ahead + places_ - last.first : ahead;
  }

 private:
  struct Run {
    std::uint32_t first;
    std::uint32_t last;
  };
  std::uint32_t places_ = 0;         // of a line that wraps
  std::vector<std::uint32_t> ends_;  // [lines] in runs_
  std::vector<Run> runs_;
};

}  // namespace tessera::network
