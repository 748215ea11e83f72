// Events of an entity to itself that fall into the window being run.
//
// Nearly all of them come in the order in which they will be handled: they wait in a ring, where
// they are written and handled in place. One that comes before the last of the ring goes to a heap
// beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::pdes {

// Of one entity at a time, whose sequence numbers only grow: what is inserted later is handled
// later, unless its time is earlier.
class SelfQueue {
 public:
  bool is_empty() const { return begin_ == end_ && early_.empty(); }

  // `fill` writes all of the event, in place.
  template <class Fill>
  void insert(SimTime time, Fill fill) {
    if (begin_ != end_ && time < last_) [[unlikely]] {
      fill(early_.emplace_back());
      std::push_heap(early_.begin(), early_.end(), HandledLater());
      return;
    }
    if (end_ - begin_ == slots_.size()) [[unlikely]] {
      grow();
    }
    last_ = time;
    fill(slots_[end_++ & (slots_.size() - 1)]);
  }

  // Calls handle(const Event&) for every event before `limit`, or for all where it is null, in
  // order; `handle` may insert more. Gives how many there were.
  template <class Handle>
  std::uint64_t run(const Event* limit, Handle handle) {
    std::uint64_t count = 0;
    while (!is_empty()) {
      const bool from_ring = is_ring_next();
      const Event& next = from_ring ? slots_[begin_ & (slots_.size() - 1)] : early_.front();
      if (limit != nullptr && !handled_before(next, *limit)) {
        break;
      }
      ++count;
      if (from_ring) {
        handle(next);  // its slot is taken until then
        ++begin_;
      } else {
        handle(take_early());
      }
    }
    outgrown_.clear();
    return count;
  }

  std::size_t resident_bytes() const {
    return (slots_.capacity() + early_.capacity()) * sizeof(Event);
  }

 private:
  // A type, so that the heap's calls of it vanish.
  struct HandledLater {
    bool operator()(const Event& a, const Event& b) const { return handled_before(b, a); }
  };
  static constexpr std::size_t first_slots = 16;

  bool is_ring_next() const {
    return early_.empty() ||
           (begin_ != end_ && handled_before(slots_[begin_ & (slots_.size() - 1)], early_.front()));
  }
  Event take_early() {
    std::pop_heap(early_.begin(), early_.end(), HandledLater());
    const Event event = early_.back();
    early_.pop_back();
    return event;
  }
  // The event that is being handled stays where it is.
  void grow() {
    std::vector<Event> larger(slots_.empty() ? first_slots : 2 * slots_.size());
    for (std::size_t at = begin_; at != end_; ++at) {
      larger[at & (larger.size() - 1)] = slots_[at & (slots_.size() - 1)];
    }
    outgrown_.push_back(std::exchange(slots_, std::move(larger)));
  }

  std::vector<Event> slots_;  // a power of two of them
  std::size_t begin_ = 0;     // both count on and on
  std::size_t end_ = 0;
  SimTime last_;              // of the ring
  std::vector<Event> early_;  // heap
  std::vector<std::vector<Event>> outgrown_;
};

}  // namespace tessera::pdes
