// How the network `packet` cuts messages into packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tessera/core/quotient.hpp"
#include "tessera/machine/arbitration.hpp"

namespace tessera::network {

struct Cutting {
  static constexpr std::uint64_t most = std::uint64_t{1} << 22U;  // packets of a message

  std::uint64_t packet_size = 0;
  std::uint64_t max_packets = 0;
  std::uint64_t largest_packet = 0;  // so that the tail lag fits its field on the slowest link
  bool store_and_forward = false;    // a packet goes on when its tail is in
  machine::Arbitration arbitration = machine::Arbitration::first_come;

  // Packets of a message and the size of all but the last.
  std::pair<std::uint64_t, std::uint64_t> cut(std::uint64_t bytes) const {
    if (bytes <= packet_size) {
      return {1, bytes};
    }
    const std::uint64_t wanted = std::min(quotient_up(bytes, packet_size), max_packets);
    const std::uint64_t size = std::min(quotient_up(bytes, wanted), largest_packet);
    return {quotient_up(bytes, size), size};
  }
};

}  // namespace tessera::network
