// Accesses whose time is known without a simulation, as nothing else is under way.
#pragma once

#include <cstdint>
#include <functional>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"

namespace tessera::memory {

// What a tile asks for at once, of a channel that does nothing else; `sharers` tiles ask it for as
// much at the same time, and each has an even part of what it moves.
struct IdleAccess {
  EntityId tile;
  Bytes read;
  Bytes written;
  std::uint64_t sharers = 1;
};
// When a message arrives that is sent at `now`, where nobody else sends.
using IdleSend = std::function<SimTime(EntityId from, EntityId to, Bytes bytes, SimTime now)>;

}  // namespace tessera::memory
