// What is said where a library's times of collectives have no effect.
#pragma once

#include <string>
#include <vector>

#include "tessera/collective/library.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

// To notes of work whose collectives go message by message, whichever library is named.
inline void note_unused_library(const network::NetworkModel& network,
                                std::vector<std::string>& notes) {
  if (network.overheads().library.is_named()) {
    notes.emplace_back(
        "machine.network.library has no effect on collectives of programs that are simulated "
        "message by message: it applies only to plans with strategy.aggregation and to graphs");
  }
}

}  // namespace tessera::sim
