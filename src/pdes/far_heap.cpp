#include "tessera/pdes/far_heap.hpp"

#include <algorithm>

namespace tessera::pdes {

void FarHeap::push(const Event& event) {
  Key fresh{event.time, 0};
  if (free_.empty()) {
    fresh.place = static_cast<std::uint32_t>(events_.size());
    events_.push_back(event);
  } else {
    fresh.place = free_.back();
    free_.pop_back();
    events_[fresh.place] = event;
  }
  std::size_t at = root + size_++;
  if (at / arity == lines_.size()) {
    lines_.emplace_back();
  }
  while (at > root) {
    const std::size_t parent = at / arity + (root - 1);
    if (key(parent).time <= fresh.time) {
      break;
    }
    key(at) = key(parent);
    at = parent;
  }
  key(at) = fresh;
}

void FarHeap::pop() {
  free_.push_back(key(root).place);
  const std::size_t end = root + --size_;  // the last key, which looks for a new place
  const Key moved = key(end);
  std::size_t at = root;
  for (;;) {
    const std::size_t child = arity * (at - (root - 1));
    if (child >= end) {
      break;
    }
    const std::size_t past = std::min(child + arity, end);
    std::size_t least = child;
    for (std::size_t other = child + 1; other < past; ++other) {
      least = key(other).time < key(least).time ? other : least;
    }
    if (moved.time <= key(least).time) {
      break;
    }
    key(at) = key(least);
    at = least;
  }
  key(at) = moved;
}

}  // namespace tessera::pdes
