// What a network takes and what it gives: the only point of contact with other components.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "tessera/core/ids.hpp"
#include "tessera/core/units.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::network {

// Port kinds of a network component: a send request, and a RingPart; models use those between for
// themselves.
inline constexpr unsigned send_kind = 0;
inline constexpr unsigned ring_kind = 15;

// The most that one message may take of its links, in 24 bits, so that a request keeps its size:
// the upper 18 bits of the rate [B/s], rounded down (by less than 8 ppm), and their shift.
class RateLimit {
 public:
  constexpr RateLimit() = default;  // none
  explicit constexpr RateLimit(Bandwidth rate) {
    const std::uint64_t whole = rate.bytes_per_second() > 0 ? rate.bytes_per_second() : 1;
    const auto width = static_cast<unsigned>(std::bit_width(whole));
    const unsigned shift = width > kept_bits ? width - kept_bits : 0;
    const auto code = static_cast<std::uint32_t>(shift << kept_bits | whole >> shift);
    code_ = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(code >> 8),
             static_cast<std::uint8_t>(code >> 16)};
  }
  constexpr std::optional<Bandwidth> rate() const {
    const std::uint32_t code =
        code_[0] | std::uint32_t{code_[1]} << 8 | std::uint32_t{code_[2]} << 16;
    if (code == 0) {
      return std::nullopt;
    }
    return Bandwidth::bytes_per_second(std::uint64_t{code & ((1U << kept_bits) - 1)}
                                       << (code >> kept_bits));
  }

 private:
  static constexpr unsigned kept_bits = 18;
  std::array<std::uint8_t, 3> code_{};
};

// Of the event of a SendRequest: someone wants to know how far the message has come
// (Progress), where the network tells.
inline constexpr std::uint8_t followed_flag = 1;
// Of the same event: the message goes through a connection of few buffers, one after the other with
// those of its pair of nodes, where the network knows of connections (`flow`).
inline constexpr std::uint8_t connection_flag = 2;
// Of the same event: the message is what its target asked for, so that where sources share links
// (machine::Arbitration) its way is part of the target's.
inline constexpr std::uint8_t answer_flag = 4;

// "Carry `bytes` to `target`, then raise an Arrival there on port `deliver`." The event's tag
// travels with the message. Messages of one pair of entities arrive in the order sent where the
// model says so (packet: yes).
struct SendRequest {
  EntityId target;
  pdes::Port deliver;
  RateLimit limit;  // see NetworkModel::limits_rates
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;  // the sender's own, handed to the receiver
};

// The last byte of a message is at its target; event.tag is the sender's.
struct Arrival {
  EntityId source;
  // Of messages of a RingPart: so many of the same ring and source came before, of which the
  // receiver was not told, and it has sent on what it got.
  std::uint32_t untold = 0;
  std::uint64_t word = 0;
};

// A message whose last part is on its way to an entity of this rank.
struct Progress {
  EntityId source;
  EntityId target;
  pdes::Port deliver;
  std::uint16_t tag = 0;
  std::uint64_t word = 0;  // of its SendRequest
  SimTime earliest;        // it does not arrive before
};

// "Now begins my part in a ring": for networks that can do without simulating each of its messages
// (NetworkModel::lumps_rings). All members say so, each before its first message. In every step,
// numbered from 0, each sends to the next one, in step 0 at once and later as soon as it has
// received, in no time, in the step before, what it received then; without a limit, to one port,
// with `word`, which nothing else has now, and the step as the tag. No message is empty, and sizes
// in step 0 differ by a byte at most.
struct RingPart {
  std::uint64_t word = 0;  // not 0
  std::uint32_t members = 0;
  std::uint32_t member = 0;
  std::uint32_t steps = 0;  // at most `most_steps`
  std::uint32_t unused = 0;

  static constexpr std::uint32_t most_steps = 65536;
};

// Hands a message to the network component `slot` at the sender's own entity.
inline void send(pdes::Context& context, unsigned slot, EntityId target, Bytes bytes,
                 pdes::Port deliver, std::uint16_t tag, std::uint64_t word,
                 std::uint8_t flags = 0) {
  context.send_self(SimTime::zero(), pdes::Port(slot, send_kind),
                    SendRequest{target, deliver, {}, bytes.count(), word}, tag, flags);
}

// The same after a while, and at a limited rate.
inline void send_after(pdes::Context& context, unsigned slot, SimTime delay,
                       const SendRequest& request, std::uint16_t tag) {
  context.send_self(delay, pdes::Port(slot, send_kind), request, tag);
}

}  // namespace tessera::network
