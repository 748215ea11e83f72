// What is said of messages that networks carry in whole pieces.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/comm/communicator.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

// None where they have less than a twentieth more than was asked for. Collective.
inline std::optional<std::string> rounded_note(const network::Network& network,
                                               comm::Communicator& communicator) {
  const network::Rounded own = network.rounded();
  std::array<std::uint64_t, 2> sums{own.asked, own.carried};
  communicator.reduce_sum(sums);
  const auto [asked, carried] = sums;
  const std::uint64_t more = carried - asked;
  if (asked == 0 || more == 0 || static_cast<double>(more) < 0.05 * static_cast<double>(asked)) {
    return std::nullopt;
  }
  return "messages of " + std::to_string(asked) + " B in total were carried as " +
         std::to_string(carried) + " B, rounded up to whole flits (machine.network.flit_size)";
}

}  // namespace tessera::sim
