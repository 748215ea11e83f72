// What a memory takes and what it gives.
#pragma once

#include <cstdint>
#include <functional>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::memory {

inline constexpr unsigned access_kind = 0;

// A byte of the memory that serves an entity. Who has no addresses says `next`: the access follows
// the one before in a region of the entity's own, which only models that know rows and banks (dram)
// tell from another.
class Address {
 public:
  constexpr Address() = default;  // next
  explicit constexpr Address(std::uint64_t byte) : byte_(byte) {}
  static constexpr Address next() { return {}; }
  constexpr bool is_next() const { return byte_ == next_byte; }
  constexpr std::uint64_t byte() const { return byte_; }
  friend constexpr bool operator==(Address, Address) = default;

 private:
  static constexpr std::uint64_t next_byte = ~std::uint64_t{0};
  std::uint64_t byte_ = next_byte;
};

// "Read or write `bytes` from `address` on in the DRAM that serves this entity, then raise an event
// on port `done` with the same tag." A tag must not be in use by another access of the entity. An
// access may have any size: a model that serves smaller requests cuts it up, and `done` is raised
// after the last of them.
//
// `of`: the entity has a channel and asks for another one that uses it, perhaps in parts. What has
// no address then follows what that one accessed before, in its region; and no limit holds that is
// of who asks over the network.
struct AccessRequest {
  std::uint64_t bytes = 0;
  Address address;
  pdes::Port done;
  bool write = false;
  EntityId of = EntityId::none();
};
static_assert(sizeof(AccessRequest) <= pdes::payload_bytes);

// Hands an access to the memory component `slot` at the entity.
inline void access(pdes::Context& context, unsigned slot, Address address, Bytes bytes, bool write,
                   pdes::Port done, std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, access_kind),
                    AccessRequest{bytes.count(), address, done, write, EntityId::none()}, tag);
}
inline void access(pdes::Context& context, unsigned slot, Bytes bytes, bool write, pdes::Port done,
                   std::uint16_t tag) {
  access(context, slot, Address::next(), bytes, write, done, tag);
}
inline void access_for(pdes::Context& context, unsigned slot, EntityId of, Bytes bytes, bool write,
                       pdes::Port done, std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, access_kind),
                    AccessRequest{bytes.count(), Address::next(), done, write, of}, tag);
}

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
