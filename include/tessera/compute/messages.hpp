// What a compute model takes and what it gives.
#pragma once

#include <cstdint>

#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::compute {

inline constexpr unsigned execute_kind = 0;

// "Execute one operation, then raise an event on port `done` with the same tag."
struct ExecuteRequest {
  std::uint32_t operation = 0;  // place in ComputeSetup::operations
  pdes::Port done;
};

inline void execute(pdes::Context& context, unsigned slot, std::uint32_t operation, pdes::Port done,
                    std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, execute_kind),
                    ExecuteRequest{operation, done}, tag);
}

}  // namespace tessera::compute
