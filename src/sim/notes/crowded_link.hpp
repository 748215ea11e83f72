// What is said of links that messages share in ways that a network does not model.
#pragma once

#include <optional>
#include <string>

#include "tessera/comm/communicator.hpp"
#include "tessera/network/network.hpp"

namespace tessera::sim {

// A link that several senders and several receivers use.
struct CrowdedLink {
  std::string name;
  SimTime busy;  // what it carried, at its bandwidth
  SimTime used;  // parts of the run in which messages over it were under way
  double load() const { return busy.seconds() / used.seconds(); }
};

// Of those that would have been busy longest over the whole run, the one that was busy for most
// beyond half of the time of its use, on all ranks; none: there is no such. Collective.
std::optional<CrowdedLink> crowded_link(const network::Network& network,
                                        const machine::Topology& topology,
                                        comm::Communicator& communicator);

std::string crowded_link_note(const network::Network& network, const CrowdedLink& link);

}  // namespace tessera::sim
