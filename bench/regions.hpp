// Contiguous cuts of the models' entities over ranks, and how far apart the regions are.
#pragma once

#include <cstdint>

#include "tessera/comm/communicator.hpp"
#include "tessera/core/time.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::bench {

// All throw ConfigError when a rank would have nothing.
//
// Every entity may send to every other, `hop` away.
pdes::Regions complete_cut(const comm::Communicator& communicator, std::uint32_t entities,
                           SimTime hop);

// Rows of `width` entities; a row sends to the next ones, `hop` away. Whole rows a rank.
pdes::Regions row_cut(const comm::Communicator& communicator, std::uint32_t rows,
                      std::uint32_t width, SimTime hop);

// Each entity sends to the next one only, the last to the first, `hop` away.
pdes::Regions ring_cut(const comm::Communicator& communicator, std::uint32_t entities, SimTime hop);

}  // namespace tessera::bench
