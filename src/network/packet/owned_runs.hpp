// Which nodes of a grid's rows or columns are of this rank's region, as runs.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::network {

// Lines in order, each with the runs of its places that belong. A region has few in a line, so that
// all lie in cache.
class OwnedRuns {
 public:
  // `is_here(line, place)`.
  template <class IsHere>
  OwnedRuns(std::uint32_t lines, std::uint32_t places, const IsHere& is_here) {
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

  // Places beyond this one, which belongs, until one that does not.
  std::uint32_t beyond(std::uint32_t line, std::uint32_t place, bool upwards) const {
    const Run* run = &runs_[line == 0 ? 0 : ends_[line - 1]];
    while (run->last < place) {
      ++run;
    }
    return upwards ? run->last - place : place - run->first;
  }

 private:
  struct Run {
    std::uint32_t first;
    std::uint32_t last;
  };
  std::vector<std::uint32_t> ends_;  // [lines] in runs_
  std::vector<Run> runs_;
};

}  // namespace tessera::network
