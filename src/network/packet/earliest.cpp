#include "packet/earliest.hpp"

#include <algorithm>

namespace tessera::network {

void Earliest::grow(std::uint32_t number) {
  const std::size_t before = levels_[0].times.size();
  std::size_t size = (std::max<std::size_t>(2 * before, number + std::size_t{1}) + fan - 1) / fan;
  for (std::size_t level = 0;; ++level) {
    if (level == levels_.size()) {
      levels_.emplace_back();
    }
    levels_[level].times.resize(size * fan, SimTime::never().ps());
    levels_[level].is_marked.resize(size);
    if (size == 1) {
      break;
    }
    // A block of old with a new level over it: its minimum is to be found.
    for (std::uint32_t block = 0; block < size; ++block) {
      mark(level, block);
    }
    size = (size + fan - 1) / fan;
  }
}

void Earliest::settle() {
  for (std::size_t at = 0; at < levels_.size(); ++at) {
    Level& level = levels_[at];
    for (const std::uint32_t block : level.marked) {
      level.is_marked[block] = 0;
      if (at + 1 < levels_.size()) {
        const std::int64_t earliest = level.earliest_in(block);
        if (levels_[at + 1].times[block] != earliest) {
          levels_[at + 1].times[block] = earliest;
          mark(at + 1, block / fan);
        }
      }
    }
    level.marked.clear();
  }
}

SimTime Earliest::earliest() {
  settle();
  return SimTime::from_ps(levels_.back().earliest_in(0));
}

void Earliest::collect(SimTime time, std::vector<std::uint32_t>& numbers) {
  settle();
  collect_in(levels_.size() - 1, 0, time.ps(), numbers);
}

void Earliest::collect_in(std::size_t level, std::uint32_t block, std::int64_t time,
                          std::vector<std::uint32_t>& numbers) const {
  for (std::uint32_t number = block * fan; number < (block + 1) * fan; ++number) {
    if (levels_[level].times[number] > time) {
      continue;
    }
    if (level == 0) {
      numbers.push_back(number);
    } else {
      collect_in(level - 1, number, time, numbers);
    }
  }
}

}  // namespace tessera::network
