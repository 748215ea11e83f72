// What a core takes beyond single operations (compute/messages.hpp), and what it gives.
#pragma once

#include <cstdint>

#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::npu {

inline constexpr unsigned share_kind = 1;

// "Do the core's share of an operator of the chip: groups `first`, `first` + `stride`, …; then
// raise an event on port `done` with the operator's number." A core does the shares it was given
// in order, two tiles at a time, and begins one while it finishes the one before.
struct ShareRequest {
  std::uint32_t number = 0;  // place in ChipSetup::operators
  std::uint32_t first = 0;
  std::uint32_t stride = 1;
  pdes::Port done;
};

// The share is over.
struct ShareDone {
  std::uint32_t number = 0;
};

inline void run_share(pdes::Context& context, unsigned slot, const ShareRequest& request) {
  context.send_self(SimTime::zero(), pdes::Port(slot, share_kind), request);
}

}  // namespace tessera::npu
