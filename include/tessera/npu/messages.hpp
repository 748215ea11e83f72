// What a core takes beyond single operations (compute/messages.hpp), and what it gives.
#pragma once

#include <cstdint>

#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::npu {

inline constexpr unsigned share_kind = 1;

// "Do the core's share of an operator: groups `first`, `first` + `stride`, …; then raise an event
// on port `done` with the operator's number and this event's tag." A core does the shares it was
// given in order of priority, highest first, and of their coming, two tiles at a time, and begins
// one while it finishes the one before. Tiles that it has taken, and groups of tiles that it has
// begun, go on.
struct ShareRequest {
  std::uint64_t number = 0;  // at the cores' OperatorSource
  std::uint32_t first = 0;
  std::uint32_t stride = 1;  // the number of cores that the operator is cut for
  std::uint8_t priority = 0;
  pdes::Port done;
};

// The share is over.
struct ShareDone {
  std::uint64_t number = 0;
};

inline void run_share(pdes::Context& context, unsigned slot, const ShareRequest& request,
                      std::uint16_t tag = 0) {
  context.send_self(SimTime::zero(), pdes::Port(slot, share_kind), request, tag);
}

}  // namespace tessera::npu
