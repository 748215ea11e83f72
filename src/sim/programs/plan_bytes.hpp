// Bytes of a plan, summed up over its tiles without a run.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/executor/program/executor.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {

// What tiles that are simulated ask of memory in so many iterations.
Work::Accessed accessed_by_tiles(const plan::Plan& plan, std::uint32_t iterations);

// What all tiles of a plan without aggregation send in so many iterations; none: its groups are too
// large to go through each step of each member. O(members * steps) for each collective.
std::optional<executor::SentBytes> sent_by_tiles(const plan::Plan& plan, std::uint32_t iterations);

}  // namespace tessera::sim
