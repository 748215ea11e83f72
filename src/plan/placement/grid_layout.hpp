// Layouts of rectangles on a grid.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/plan/placement/placement.hpp"

namespace tessera::plan {

using Shape = std::array<std::uint32_t, 2>;            // rows, columns
using Cell = std::pair<std::uint32_t, std::uint32_t>;  // row, column

// A rectangle of a grid that stages are laid on, as if it were the grid.
struct Field {
  machine::Grid grid;
  Cell corner;
  machine::Grid whole;

  EntityId node(std::uint32_t row, std::uint32_t column) const {
    return whole.node(corner.first + row, corner.second + column);
  }
};

// All of a grid where there are no `nodes`, else these, in any order. None where the machine is no
// grid, or they are no rectangle of it. The field has the blocks of a two-level machine where it is
// of whole ones.
std::optional<Field> field_of(const machine::Topology& topology,
                              const std::vector<EntityId>& nodes);

// The same for layouts that cannot do without; throws ConfigError when there is none, in which
// `who` is said to need it ("'line' needs").
Field required_field(const machine::Machine& machine, const PlacementRequest& request,
                     const std::string& who);

// "3 x 4".
std::string text_of(const Shape& shape);

// Cells of the roles of one stage inside its rectangle, [data * tensor] in the order of the roles.
// The shape of a tensor group is that of the request, else the squarest that divides the rectangle;
// throws ConfigError when there is none.
std::vector<Cell> stage_cells(const Shape& group, const PlacementRequest& request);

// Node of each role for stages in columns of groups; every other column upwards if `snake`. Throws
// ConfigError when the roles do not fit.
std::vector<EntityId> lay_out(const Field& field, const PlacementRequest& request, bool snake);

}  // namespace tessera::plan
