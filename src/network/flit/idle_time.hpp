// What a message takes in a flit network where nobody else sends.
#pragma once

#include "flit/settings.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::network {

// From the first flit to the last, over the slowest link or over the longest one: packets take
// virtual channels in turn, each of which carries as many flits in a round trip of credits as it
// has buffers.
SimTime carry_time(const FlitSettings& settings, const machine::Path& path, Bytes bytes);

}  // namespace tessera::network
