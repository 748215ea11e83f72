// What is said where a library's times of collectives have no effect.
#pragma once

#include <string>
#include <vector>

#include "tessera/collective/library.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

// What else of it then has none, to go behind that; "": nothing is given.
inline std::string unused_with_library(const network::NetworkModel& network) {
  const collective::LibrarySettings library = network.overheads().library;
  if (library.device == collective::LibraryDevice::ampere) {
    return "";
  }
  return library.nvls ? "; nor has nvswitch_generation" : "; nor have nvswitch_generation and nvls";
}

// To notes of work whose collectives go message by message, whichever library is named.
inline void note_unused_library(const network::NetworkModel& network,
                                std::vector<std::string>& notes) {
  if (network.overheads().library.is_named()) {
    notes.push_back(
        "machine.network.library has no effect on collectives of programs that are simulated "
        "message by message: it applies only to plans with strategy.aggregation and to graphs" +
        unused_with_library(network));
  }
}

// The same of work without collectives, and of what a collective takes beside its messages.
inline void note_unused_collectives_of(const network::NetworkModel& network,
                                       const std::string& work, std::vector<std::string>& notes) {
  const network::Overheads& overheads = network.overheads();
  if (!overheads.collective.is_nothing()) {
    notes.push_back("overheads of collectives (machine.network) have no effect on " + work);
  }
  if (overheads.library.is_named()) {
    notes.push_back("machine.network.library has no effect on " + work +
                    unused_with_library(network));
  }
}

}  // namespace tessera::sim
