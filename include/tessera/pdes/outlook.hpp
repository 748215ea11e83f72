// What a rank knows of the events that it will send to another one: its lookahead, told by models.
//
// Method: application-level lookahead (Jha and Bagrodia, "Simultaneous events and lookahead in
// simulation protocols", ACM TOMACS 10(3), 2000: earliest output times; Nicol, "Parallel
// discrete-event simulation of FCFS stochastic queueing networks", PPEALS 1988: lookahead from
// service that is sampled ahead). Here work is described beforehand, so that models know routes,
// schedules and sizes. An outlook has three parts, because what a rank will send depends on what
// still comes in, and only those who send that know when it does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"

namespace tessera::pdes {

// Towards one other rank: no event reaches it before
//   min(at, N + after_next, I + min(after_next, after_input)),
// with N the earliest pending event of this rank and I the earliest event that still comes in from
// any rank. It holds for everything that follows from the state it was made of.
struct Outlook {
  SimTime at = SimTime::never();           // of what is under way, whatever else happens
  SimTime after_next = SimTime::never();   // at least, from whatever this rank handles next
  SimTime after_input = SimTime::never();  // at least, from an event that comes in

  void add(const Outlook& other) {
    at = std::min(at, other.at);
    after_next = std::min(after_next, other.after_next);
    after_input = std::min(after_input, other.after_input);
  }
  // From an event that comes in to one that leaves.
  SimTime through() const { return std::min(after_next, after_input); }
  friend bool operator==(const Outlook&, const Outlook&) = default;
};

// What an outlook is asked of.
struct Moment {
  SimTime done;    // every event before was handled, and none comes in before
  SimTime next;    // of the earliest pending event, none of which was handled
  SimTime wanted;  // of some use is whatever says more than now; it need not be more than this
  SimTime width;   // of a window: a rank that stands at `next`, too, needs to hear of as much more
};

// Which rank simulates which entity, as a model sees it.
struct RegionView {
  std::span<const std::uint32_t> owner;  // [entities]
  std::uint32_t self = 0;

  bool is_here(EntityId entity) const { return owner[entity.value()] == self; }
};

// Where a message first leaves the region of its sender, if it does.
struct Exit {
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  std::uint32_t region = none;
  SimTime latency;  // at least, from the sender to the first entity there

  bool leaves() const { return region != none; }
  friend bool operator==(const Exit&, const Exit&) = default;
};

}  // namespace tessera::pdes
