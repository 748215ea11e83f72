// Grids cut along whole rows and columns.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/machine/topology/grid.hpp"

namespace tessera::machine {

// Rows and columns are in bands, and what lies in the same two bands has one part: what is known of
// it takes memory for the bands and none for nodes.
class GridParts {
 public:
  // `rows`, `columns`: where bands begin, ascending from 0; `parts`: [bands of rows][of columns].
  GridParts(const Grid& grid, std::vector<std::uint32_t> rows, std::vector<std::uint32_t> columns,
            std::vector<std::uint32_t> parts);

  const Grid& grid() const { return grid_; }
  std::uint32_t of(EntityId node) const {
    return at(band_of(rows_, grid_.row_of(node)), band_of(columns_, grid_.column_of(node)));
  }
  // [parts] nodes of each.
  std::vector<std::uint64_t> sizes(std::size_t parts) const;
  // Directed links between different parts, where none is dead.
  std::uint64_t cut_links() const;

 private:
  static std::size_t band_of(const std::vector<std::uint32_t>& bands, std::uint32_t place);
  static std::uint64_t width(const std::vector<std::uint32_t>& bands, std::size_t band,
                             std::uint32_t size);
  std::uint32_t at(std::size_t row, std::size_t column) const {
    return parts_[row * columns_.size() + column];
  }

  Grid grid_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> columns_;
  std::vector<std::uint32_t> parts_;
};

}  // namespace tessera::machine
