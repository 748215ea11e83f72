// What is said of messages whose times networks truncate.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "results/rank_sums.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

// None where it is less than 1 % of their time on links. Collective.
inline std::optional<std::string> truncated_note(const network::Network& network,
                                                 comm::Communicator& communicator) {
  const network::Truncated own = network.truncated();
  const std::vector<Wide> sums = sums_over_ranks(communicator, {own.time_ps, own.dropped_ps});
  const auto time = static_cast<double>(sums[0]);
  const auto dropped = static_cast<double>(sums[1]);
  if (dropped == 0 || dropped < 0.01 * time) {
    return std::nullopt;
  }
  return "times of messages on links were truncated to a multiple of machine.network.message_tick: "
         "by " +
         format_number(std::round(1000 * dropped / time) / 10) + " % in total";
}

}  // namespace tessera::sim
