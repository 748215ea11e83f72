// What a compute model takes and what it gives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/core/time.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/workload/issue.hpp"

namespace tessera::compute {

inline constexpr unsigned execute_kind = 0;

using workload::Issue;

// What a host takes to issue operations beside the device (host_stream.hpp).
struct HostTimes {
  SimTime issue;  // of each operation, collective and message
  SimTime pass;   // beside operations, of each pass

  bool is_nothing() const { return issue + pass == SimTime::zero(); }
  // When the device can begin with an operation that it is free for now. `until`: the host is busy
  // with what it has issued, before and after.
  SimTime begin(SimTime& until, SimTime now, Issue of) const {
    const SimTime from = of.waits ? std::max(until, now) : until;
    until = from + issue * (1 + std::int64_t{of.others});
    if (of.begins) {
      until = until + pass;
    }
    return std::max(now, until);
  }
};

// "Execute one operation, then raise an event on port `done` with the same tag."
struct ExecuteRequest {
  std::uint32_t operation = 0;  // place in ComputeSetup::operations
  pdes::Port done;
  std::uint16_t arriving = 0;  // GB/s that such a collective brings, as far as it is known
  Issue issue;
  // Collectives go on in the background until then. Zero: none does; never: nobody knows how long.
  SimTime until;
};

// What goes on in the background when an operation begins; see ExecuteRequest.
struct Beside {
  SimTime until;
  std::uint16_t arriving = 0;
};

inline void execute(pdes::Context& context, unsigned slot, std::uint32_t operation, pdes::Port done,
                    std::uint16_t tag, Issue issue = {}, Beside beside = {}) {
  context.send_self(SimTime::zero(), pdes::Port(slot, execute_kind),
                    ExecuteRequest{operation, done, beside.arriving, issue, beside.until}, tag);
}

inline constexpr unsigned timed_kind = 1;

// Of tiles that are told how long an operation takes (timed.hpp): "Be busy for so long, then raise
// an event on port `done` with this event's tag." What waits goes in order of priority, highest
// first, then of `order`, lowest first.
struct TimedRequest {
  SimTime duration;
  std::uint32_t order = 0;
  std::uint8_t priority = 0;
  pdes::Port done;
};

inline void run_timed(pdes::Context& context, unsigned slot, const TimedRequest& request,
                      std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, timed_kind), request, tag);
}

}  // namespace tessera::compute
