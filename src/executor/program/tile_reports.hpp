// What is said of tiles with programs when a run is over, or cannot go on.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "program/tile_state.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

// Where its time went: what no activity has taken is `bubble`. Without outputs.
TileResult result_of(EntityId tile, const TileState& state, bool finished);

// What a tile that has not finished waits for, since when, and from whom.
std::string waiting_line(const plan::Plan& plan, const machine::Topology& topology, EntityId tile,
                         const TileState& state);

// Of an iteration of those that play a role, modulo 2^64.
std::uint64_t flops_of_programs(const plan::Plan& plan, std::span<const TileState> tiles);

}  // namespace tessera::executor
