// Tiles that are told how long an operation takes (TimedRequest): one at a time, the most urgent
// first; who is under way goes on.
#pragma once

#include <memory>
#include <span>

#include "tessera/compute/compute.hpp"
#include "tessera/core/ids.hpp"

namespace tessera::compute {

std::unique_ptr<Compute> make_timed_tiles(std::span<const EntityId> members, unsigned slot);

}  // namespace tessera::compute
