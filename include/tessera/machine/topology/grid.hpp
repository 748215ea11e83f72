// Rectangles of nodes.
#pragma once

#include <cstdint>

#include "tessera/core/ids.hpp"

namespace tessera::machine {

// A rectangle of nodes, row-major: node = row * columns + column.
struct Grid {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  bool wraps = false;            // torus
  std::uint32_t block_rows = 1;  // two-level machines: cores per tile
  std::uint32_t block_columns = 1;
  std::uint32_t row_of(EntityId node) const { return node.value() / columns; }
  std::uint32_t column_of(EntityId node) const { return node.value() % columns; }
  EntityId node(std::uint32_t row, std::uint32_t column) const {
    return EntityId(row * columns + column);
  }
};

}  // namespace tessera::machine
