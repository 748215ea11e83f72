// The pending-event set of a textbook: a binary heap of whole events.
#pragma once

#include <cstddef>
#include <queue>
#include <vector>

#include "tessera/pdes/event.hpp"

namespace tessera::bench::reference {

// The total order (time, target, source, sequence), turned round for std::priority_queue.
struct Later {
  bool operator()(const pdes::Event& a, const pdes::Event& b) const {
    if (a.time != b.time) {
      return a.time > b.time;
    }
    if (a.target != b.target) {
      return a.target > b.target;
    }
    return pdes::handled_before(b, a);
  }
};

class EventQueue : public std::priority_queue<pdes::Event, std::vector<pdes::Event>, Later> {
 public:
  // With room for `expected` events.
  explicit EventQueue(std::size_t expected) { c.reserve(expected); }
  std::size_t resident_bytes() const { return c.capacity() * sizeof(pdes::Event); }
};

}  // namespace tessera::bench::reference
