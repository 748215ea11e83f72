// What a flit network bends to its cycles and buffers, in words.
#pragma once

#include <string>
#include <vector>

#include "flit/routers.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::network {

// Where latencies are longer, or all rates lower, than they were asked for by more than 1 %, and
// where buffers hold less than a round trip of credits.
std::vector<std::string> notes_on(const FlitSettings& settings,
                                  const std::vector<LinkTiming>& timings,
                                  const machine::Topology& topology);

}  // namespace tessera::network
