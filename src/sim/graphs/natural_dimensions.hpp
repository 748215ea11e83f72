// Dimensions that collectives go over when the user names none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// A dimension of the machine as its NPUs are numbered, the first counting fastest.
struct NaturalDimension {
  std::uint32_t size = 1;
  std::string algorithm;
};

// Those of the machine, where `npus` are all its nodes that compute, in order. Some of them that
// fill a box of these dimensions, in order, have the sides of the box: all servers' first four
// accelerators, or a rectangle of a grid. Any others lie in one dimension.
std::vector<NaturalDimension> natural_dimensions(const machine::Topology& topology,
                                                 const std::vector<EntityId>& npus);

}  // namespace tessera::sim
