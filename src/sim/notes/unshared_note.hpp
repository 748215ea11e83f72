// What is said of messages that shared nothing.
#pragma once

#include <string>

#include "tessera/core/time.hpp"

namespace tessera::sim {

// `wait`: how much later one would have come at most (network::Network::longest_unshared).
inline std::string unshared_note(SimTime wait) {
  return "messages did not contend for links: had they been serialized on the links by which they "
         "leave and enter nodes, one would have arrived " +
         to_string(wait) + " later (machine.network.ports: shared)";
}

}  // namespace tessera::sim
