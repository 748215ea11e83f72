// What the networks of packets have in common: how an event names a packet's place in its message,
// and how large packets may be.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "tessera/config/document.hpp"
#include "tessera/core/units.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/network/network.hpp"

namespace tessera::network {

// An event's flags hold the port to deliver to, and whether the packet is the last of its message.
inline constexpr std::uint8_t last_packet_flag = 0x80;

inline std::uint8_t packet_flags(pdes::Port deliver, bool last) {
  return static_cast<std::uint8_t>(deliver.code() | (last ? last_packet_flag : 0));
}
inline pdes::Port deliver_port(std::uint8_t flags) {
  return pdes::Port::from_code(
      static_cast<std::uint8_t>(flags & static_cast<std::uint8_t>(~last_packet_flag)));
}

// A message to the node itself takes no time. Whether it was one, which is then counted.
inline bool deliver_to_self(pdes::Context& context, const SendRequest& request, std::uint16_t tag,
                            Carried& carried) {
  if (request.target != context.self()) {
    return false;
  }
  carried.take(request.bytes);
  carried.deliver(request.bytes);
  context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                    tag);
  return true;
}

// Sizes and tail lags [ps] of packets have 32 bits.
inline constexpr std::uint64_t packet_field = std::numeric_limits<std::uint32_t>::max();

// The largest packet whose tail lag fits at this rate; 0 below 233 B/s.
inline std::uint64_t largest_at(Bandwidth rate) {
  return bytes_in(SimTime::from_ps(static_cast<std::int64_t>(packet_field)), rate).count();
}

// Says in the notes of a run that packets are smaller than they were asked for.
inline void tell_of_cut_packets(config::Section& section, std::uint64_t asked,
                                std::uint64_t largest) {
  if (asked > largest) {
    section.tell(section.path() + ".packet_size: packets have " + std::to_string(largest) +
                 " B, the largest that the slowest link allows");
  }
}

}  // namespace tessera::network
