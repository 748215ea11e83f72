// Data on its way through an array: what enters at the left edge moves one MAC to the right each
// cycle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera::compute {

// A tape for each row of the array, newest entry first, of which the row's MACs see a window: one
// entry more at the head moves all of them. A window that begins `lag` entries behind the head is
// the skew of the set-up. Amortised O(1) an entry.
template <class Entry>
class Tapes {
 public:
  // Windows of `columns` entries, that lag by less than `longest_lag`.
  Tapes(std::size_t tapes, std::size_t columns, std::size_t longest_lag)
      : reach_(columns + longest_lag),
        // Not a power of two apart, or all rows would share the same few lines of the cache.
        capacity_(2 * reach_ + 64 / sizeof(Entry)),
        head_(capacity_ - reach_),
        entries_(tapes * capacity_) {}

  // A cycle begins. All new entries are zero.
  void advance() {
    if (head_ == 0) {
      rewind();
    }
    --head_;
    for (std::size_t at = head_; at < entries_.size(); at += capacity_) {
      entries_[at] = Entry();
    }
  }

  Entry& newest(std::size_t tape) { return entries_[tape * capacity_ + head_]; }

  const Entry* window(std::size_t tape, std::size_t lag) const {
    return entries_.data() + tape * capacity_ + head_ + lag;
  }

 private:
  void rewind() {
    head_ = capacity_ - reach_;
    for (std::size_t tape = 0; tape < entries_.size(); tape += capacity_) {
      std::copy_n(entries_.begin() + tape, reach_, entries_.begin() + tape + head_);
    }
  }

  std::size_t reach_;
  std::size_t capacity_;
  std::size_t head_;
  std::vector<Entry> entries_;  // [tapes, capacity]
};

}  // namespace tessera::compute
