// What a network takes and what it gives: the only meeting point with other components.
#pragma once

#include <cstdint>

#include "tessera/core/ids.hpp"
#include "tessera/core/units.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::network {

// Port kind of a send request on a network component; models use the kinds from 1 on for
// themselves.
inline constexpr unsigned send_kind = 0;

// "Carry `bytes` to `target`, then raise an Arrival there on port `deliver`." The event's tag
// travels with the message. Messages of one pair of entities arrive in the order sent where the
// model says so (packet: yes).
struct SendRequest {
  EntityId target;
  pdes::Port deliver;
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;  // the sender's own, handed to the receiver
};

// The last byte of a message is at its target; event.tag is the sender's.
struct Arrival {
  EntityId source;
  std::uint32_t unused = 0;
  std::uint64_t word = 0;
};

// Hands a message to the network component `slot` at the sender's own entity.
inline void send(pdes::Context& context, unsigned slot, EntityId target, Bytes bytes,
                 pdes::Port deliver, std::uint16_t tag, std::uint64_t word) {
  context.send_self(SimTime::zero(), pdes::Port(slot, send_kind),
                    SendRequest{target, deliver, bytes.count(), word}, tag);
}

}  // namespace tessera::network
