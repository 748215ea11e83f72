// Virtual wall clocks of the regions of one cut: when each rank would have done what one run on one
// rank does, under perfect lookahead and under a protocol of promises.
//
// Method: a clock counts time in events, so that no processor has to be known. It goes on by one
// for each event of its region (the caller counts those) and by `remote_event` for each event that
// it sends to another region or has from one. Events leave a region at the end of the window in
// which they are sent; a region waits at the beginning of a window until all of its events from
// others are there. Two clocks are kept:
//
//   perfect   A region knows beforehand when the next event from elsewhere will come, and what is
//             sent is on its way at once: it is there `message` after it left. Nobody asks. No
//             protocol can be faster with the same cut, unless messages are.
//   promised  Ranks send what they have when they are asked, and unasked after `exchange_every`
//             events of work. A rank that lacks an event asks its sender when it comes to the
//             window: the answer leaves `wait_messages` - 1 messages later, but not before the
//             event was sent, brings all that was sent until then, and promises silence until the
//             next event that really comes. Each exchange costs `exchange` of processor time at
//             both ends.
//
// Assumed: an answer needs no window of its own at the one asked (it answers at once, also in the
// middle of a stretch of work); promises are as good as perfect ones (worse ones are more
// `wait_messages`); processor time of polling is part of `exchange`.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tessera/pdes/window_clock.hpp"
#include "tessera/trace/scaling_report.hpp"

namespace tessera::sim {

// All but the last but one in the time that an event takes.
struct ClockCosts {
  double message = 20;       // from leaving one rank to being there on another
  double remote_event = 0;   // more, of an event that crosses, at each end
  double exchange = 0;       // processor time at each end
  double wait_messages = 2;  // ≥ 1, from asking to having the answer
  double exchange_every = 256;
};

// O(regions) of memory; O(1) for each event that crosses.
class RegionClocks {
 public:
  // When an event left its region.
  struct Stamp {
    double perfect = 0;
    double promised = 0;
  };
  RegionClocks(std::uint32_t regions, const ClockCosts& costs);

  // To be called before `sent` and `received` name a region in a window; `done` events it has
  // handled before that window. Windows never fall.
  void come_to(std::uint32_t number, pdes::WindowNumber window, std::uint64_t done);
  void sent(std::uint32_t from);
  void received(std::uint32_t to, std::uint32_t from, const Stamp& stamp);
  // Now, with so many events handled.
  Stamp now(std::uint32_t number, std::uint64_t done) const;

  // With the number of events that each region handled.
  trace::ScalingClock perfect(std::span<const std::uint64_t> done) const;
  trace::ScalingClock promised(std::span<const std::uint64_t> done) const;

 private:
  struct Clock {
    double ahead = 0;     // of the events that were handled
    double messages = 0;  // of that, not waiting
    double start = 0;     // when it came to its present window,
    double waited = 0;    // and how long it waited there
    std::uint64_t waits = 0;

    void come_to(std::uint64_t done);
    void wait_until(double time);
    void spend(double time);
  };
  // Up to which of a sender's promised time all that it sent is there.
  struct Heard {
    static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t sender = nobody;
    double until = 0;
  };
  // Senders that a region remembers; one that is forgotten is asked once more.
  static constexpr std::size_t remembered = 16;
  struct Region {
    pdes::WindowNumber window = -1;
    Clock perfect;
    Clock promised;
    std::uint64_t exchanges = 0;
    std::array<Heard, remembered> heard;
  };

  void hear(Region& to, std::uint32_t from, double left);
  trace::ScalingClock collect(std::span<const std::uint64_t> done, Clock Region::*member) const;

  ClockCosts costs_;
  std::vector<Region> regions_;
};

}  // namespace tessera::sim
