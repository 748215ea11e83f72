// Times under numbers, of which the earliest is asked for now and then.
//
// A tree of minima over blocks of 8: in larger ones most of the time goes into looking at numbers
// that nothing has happened to. Changes mark their block, and only what is marked is looked at
// again before the next question: many changes at one instant cost little more than one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::network {

class Earliest {
 public:
  // never() takes it out. O(1).
  void set(std::uint32_t number, SimTime time) {
    if (number >= levels_[0].times.size()) [[unlikely]] {
      grow(number);
    }
    levels_[0].times[number] = time.ps();
    mark(0, number / fan);
  }
  SimTime time(std::uint32_t number) const { return SimTime::from_ps(levels_[0].times[number]); }
  // never() when there is none.
  SimTime earliest();
  // Adds the numbers whose time is not after `time`, in ascending order.
  void collect(SimTime time, std::vector<std::uint32_t>& numbers);

 private:
  static constexpr std::uint32_t fan = 8;
  struct Level {
    std::vector<std::int64_t> times = std::vector<std::int64_t>(fan, SimTime::never().ps());
    // Blocks whose minimum is not known one level up.
    std::vector<std::uint32_t> marked;
    std::vector<std::uint8_t> is_marked = std::vector<std::uint8_t>(1);

    // Without branches: which one it is cannot be foreseen.
    std::int64_t earliest_in(std::uint32_t block) const {
      const std::int64_t* const first = times.data() + std::size_t{block} * fan;
      std::int64_t earliest = first[0];
      for (std::uint32_t at = 1; at < fan; ++at) {
        earliest = std::min(earliest, first[at]);
      }
      return earliest;
    }
  };

  void mark(std::size_t level, std::uint32_t block) {
    Level& of = levels_[level];
    if (of.is_marked[block] == 0) {
      of.is_marked[block] = 1;
      of.marked.push_back(block);
    }
  }
  void grow(std::uint32_t number);
  void settle();
  void collect_in(std::size_t level, std::uint32_t block, std::int64_t time,
                  std::vector<std::uint32_t>& numbers) const;

  std::vector<Level> levels_ = std::vector<Level>(1);  // the last one is a single block
};

}  // namespace tessera::network
