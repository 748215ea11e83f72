// What the tiles of a stage are, on machines of several types.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/machine.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// Numbers in Machine::tiles(), ascending; of a plan without tiles, as of a draft, of all nodes that
// it may use.
std::vector<std::uint16_t> types_of_stage(const machine::Machine& machine, const Plan& plan,
                                          std::uint32_t stage);

// A tile of the least SRAM of all types: what a program for all of them can count on.
machine::Tile least_tile(const machine::Machine& machine, const std::vector<std::uint16_t>& types);

// Throws ConfigError where a tile stands for one of another type, or tiles of one stage, and some
// alone, have their operands in DRAM.
void check_types(const machine::Machine& machine, const Plan& plan);

}  // namespace tessera::plan
