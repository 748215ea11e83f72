// What a memory takes and what it gives.
#pragma once

#include <cstdint>

#include "tessera/core/units.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::memory {

inline constexpr unsigned access_kind = 0;

// "Read or write `bytes` of the DRAM that serves this entity, then raise an event on port `done`
// with the same tag." A tag must not be in use by another access of the entity.
struct AccessRequest {
  std::uint64_t bytes = 0;
  pdes::Port done;
  bool write = false;
};

// Hands an access to the memory component `slot` at the entity.
inline void access(pdes::Context& context, unsigned slot, Bytes bytes, bool write, pdes::Port done,
                   std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, access_kind),
                    AccessRequest{bytes.count(), done, write}, tag);
}

}  // namespace tessera::memory
