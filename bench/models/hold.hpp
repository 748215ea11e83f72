// The hold model: a pending-event set alone, always of the same size. To hold is to take the
// earliest event and put one back, lookahead + exponential(mean) later.
//
// Jones, "An empirical comparison of priority-queue and event-set implementations", CACM 29 (1986).
// Deviation: the calendar gives a window at a time, whose events come in no order, as the engine
// takes them. So each event's next time is drawn from its own number, and the result is a sum.
#pragma once

#include <cstdint>

#include "models/draw.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

struct HoldParameters {
  std::uint32_t pending = 0;
  SimTime lookahead;  // the width of a window
  SimTime mean;
  SimTime until;  // events from here on are not put back
  std::uint64_t seed = 0;
};

class Hold {
 public:
  explicit Hold(const HoldParameters& parameters)
      : parameters_(parameters), seed_(mix64(parameters.seed)) {}

  // The pending events at the start, spread over one mean delay each.
  template <class Insert>
  void fill(const Insert& insert) {
    for (std::uint32_t i = 0; i < parameters_.pending; ++i) {
      pdes::Event event;
      event.target = i;
      event.source = EntityId(i);
      event.time = exponential(draw(seed_, event.source, 0), parameters_.mean);
      event.sequence = 1;
      insert(event);
    }
  }

  template <class Insert>
  void handle(pdes::Event event, const Insert& insert) {
    ++events_;
    last_ = event.time > last_ ? event.time : last_;
    sum_ += mix64(static_cast<std::uint64_t>(event.time.ps()) + event.source.value());
    if (event.time < parameters_.until) {
      event.time += parameters_.lookahead +
                    exponential(draw(seed_, event.source, event.sequence), parameters_.mean);
      ++event.sequence;
      insert(event);
    }
  }

  std::uint64_t events() const { return events_; }
  SimTime last_event_time() const { return last_; }
  Digest digest() const {
    Digest digest;
    digest.add({sum_, events_});
    return digest;
  }

 private:
  HoldParameters parameters_;
  std::uint64_t seed_;
  std::uint64_t events_ = 0;
  std::uint64_t sum_ = 0;
  SimTime last_;
};

}  // namespace tessera::bench
