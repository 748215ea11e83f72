// Layouts of rectangles on a grid.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/plan/placement.hpp"

namespace tessera::plan {

using Shape = std::array<std::uint32_t, 2>;            // rows, columns
using Cell = std::pair<std::uint32_t, std::uint32_t>;  // row, column

// "3 x 4".
std::string text_of(const Shape& shape);

// Cells of the roles of one stage inside its rectangle, [data * tensor] in the order of the roles.
// The shape of a tensor group is that of the request, else the squarest that divides the rectangle;
// throws ConfigError when there is none.
std::vector<Cell> stage_cells(const Shape& group, const PlacementRequest& request);

// Node of each role for stages in columns of groups; every other column upwards if `snake`. Throws
// ConfigError when the roles do not fit.
std::vector<EntityId> lay_out(const machine::Grid& grid, const PlacementRequest& request,
                              bool snake);

}  // namespace tessera::plan
