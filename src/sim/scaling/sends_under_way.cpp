#include "tessera/sim/scaling/sends_under_way.hpp"

#include <utility>

namespace tessera::sim {
namespace {

std::uint64_t key_of(EntityId source, std::uint32_t sequence) {
  return std::uint64_t{source.value()} << 32 | sequence;
}

}  // namespace

std::uint32_t SendsUnderWay::add(EntityId source, std::uint32_t sequence) {
  std::uint32_t slot = slots_;
  if (free_.empty()) {
    ++slots_;
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  put({key_of(source, sequence), slot});
  if (++used_ * 2 > places_.size()) {
    grow();
  }
  return slot;
}

std::uint32_t SendsUnderWay::take(EntityId source, std::uint32_t sequence) {
  const std::uint64_t key = key_of(source, sequence);
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = home(key); places_[at].slot != none; at = (at + 1) & mask) {
    if (places_[at].key == key) {
      const std::uint32_t slot = places_[at].slot;
      close_gap(at);
      --used_;
      free_.push_back(slot);
      return slot;
    }
  }
  return none;
}

// Fibonacci hashing; sequences of one source follow each other.
std::size_t SendsUnderWay::home(std::uint64_t key) const {
  return (key * 0x9E3779B97F4A7C15ULL >> 32) & (places_.size() - 1);
}

void SendsUnderWay::put(const Place& place) {
  const std::size_t mask = places_.size() - 1;
  std::size_t at = home(place.key);
  while (places_[at].slot != none) {
    at = (at + 1) & mask;
  }
  places_[at] = place;
}

// Moves up what would not be found past the gap (Knuth, The Art of Computer Programming 3,
// section 6.4, algorithm R).
void SendsUnderWay::close_gap(std::size_t gap) {
  const std::size_t mask = places_.size() - 1;
  for (std::size_t at = (gap + 1) & mask; places_[at].slot != none; at = (at + 1) & mask) {
    if (((at - home(places_[at].key)) & mask) >= ((at - gap) & mask)) {
      places_[gap] = places_[at];
      gap = at;
    }
  }
  places_[gap].slot = none;
}

void SendsUnderWay::grow() {
  const std::vector<Place> before = std::exchange(places_, std::vector<Place>(places_.size() * 2));
  for (const Place& place : before) {
    if (place.slot != none) {
      put(place);
    }
  }
}

}  // namespace tessera::sim
