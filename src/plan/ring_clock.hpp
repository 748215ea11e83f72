// How long a ring takes whose members pass on what they receive.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::plan {

// The way of a message from one member to the next: it takes the latency, and holds its links as
// long as the slowest of them carries all messages that share it.
struct RingLink {
  SimTime latency;
  std::vector<std::pair<Bandwidth, std::uint32_t>> shared{};  // by bandwidth, the most messages

  void add(Bandwidth bandwidth, std::uint32_t messages);
  SimTime on_links(Bytes bytes) const;
  friend bool operator==(const RingLink&, const RingLink&) = default;
};

// A step of a member is over when its own step before is over and the message has come that the
// member before it sent after its step before, on links that the message before has left. In step k
// member i receives the chunk that came to member i - k in the first one.
//
// Times are exact, by the shortest way that is: where all links are alike, every step takes as long
// as the largest chunk on one of them (it is passed on from step to step, and nothing is slower);
// where links repeat after q members and chunks are of one size, so do the members' times, and q of
// them stand for all, O(steps * q); else O(steps * members).
class RingClock {
 public:
  // [members] the way to each member from the one before it, which must outlive the clock, and what
  // comes to it in the first step.
  RingClock(const std::vector<RingLink>& links, std::vector<Bytes> first);
  SimTime time(std::uint32_t steps) const;

 private:
  std::size_t period() const;
  SimTime follow(std::size_t members, std::uint32_t steps) const;

  const std::vector<RingLink>& links_;
  std::vector<Bytes> first_;
  bool one_size_;
};

}  // namespace tessera::plan
