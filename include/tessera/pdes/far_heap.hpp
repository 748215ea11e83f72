// Events in order of their time, for those that lie far ahead: a 4-ary heap of times and places
// (LaMarca and Ladner 1996, "The influence of caches on the performance of heaps"), the events
// themselves in places that do not move. The four children of a key share a cache line, so that a
// step down reads one line, and an event is copied once on its way in and once on its way out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::pdes {

class FarHeap {
 public:
  bool is_empty() const { return size_ == 0; }
  // The earliest; there must be one. Of several at one time any.
  const Event& first() const { return events_[key(root).place]; }
  SimTime first_time() const { return key(root).time; }

  void push(const Event& event);
  // Drops the earliest.
  void pop();

  template <class Visit>
  void visit(const Visit& visit) const {
    for (std::size_t at = root; at < root + size_; ++at) {
      visit(events_[key(at).place]);
    }
  }
  std::size_t resident_bytes() const {
    return lines_.capacity() * sizeof(Line) + events_.capacity() * sizeof(Event) +
           free_.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Key {
    SimTime time;
    std::uint32_t place = 0;
  };
  static constexpr std::size_t arity = 4;
  struct alignas(arity * sizeof(Key)) Line {
    std::array<Key, arity> keys;
  };
  static_assert(sizeof(Line) == 64);
  // So that children begin a line: those of key i are 4i - 8 to 4i - 5.
  static constexpr std::size_t root = arity - 1;

  Key& key(std::size_t at) { return lines_[at / arity].keys[at % arity]; }
  const Key& key(std::size_t at) const { return lines_[at / arity].keys[at % arity]; }

  std::vector<Line> lines_;
  std::size_t size_ = 0;
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_;  // places of `events_`
};

}  // namespace tessera::pdes
