// What is said of messages that shared nothing.
#pragma once

#include <string>

#include "tessera/core/time.hpp"

namespace tessera::sim {

// `wait`: how much later one would have come at most (network::Network::longest_unshared).
inline std::string unshared_note(SimTime wait) {
  return "messages shared no link: had those that leave a node by one link, or come in to one, "
         "gone "
         "one after the other, one would have come " +
         to_string(wait) + " later (machine.network.ports: shared)";
}

}  // namespace tessera::sim
