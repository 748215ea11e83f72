#include "tessera/machine/topology/grid_parts.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::machine {

GridParts::GridParts(const Grid& grid, std::vector<std::uint32_t> rows,
                     std::vector<std::uint32_t> columns, std::vector<std::uint32_t> parts)
    : grid_(grid), rows_(std::move(rows)), columns_(std::move(columns)), parts_(std::move(parts)) {
  ensure(parts_.size() == rows_.size() * columns_.size(), "each crossing of two bands has a part");
}

std::size_t GridParts::band_of(const std::vector<std::uint32_t>& bands, std::uint32_t place) {
  return static_cast<std::size_t>(std::upper_bound(bands.begin(), bands.end(), place) -
                                  bands.begin() - 1);
}

std::uint64_t GridParts::width(const std::vector<std::uint32_t>& bands, std::size_t band,
                               std::uint32_t size) {
  return (band + 1 < bands.size() ? bands[band + 1] : size) - bands[band];
}

std::vector<std::uint64_t> GridParts::sizes(std::size_t parts) const {
  std::vector<std::uint64_t> sizes(parts);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      sizes[at(row, column)] +=
          width(rows_, row, grid_.rows) * width(columns_, column, grid_.columns);
    }
  }
  return sizes;
}

// On a torus the last band is beside the first.
std::uint64_t GridParts::cut_links() const {
  std::uint64_t cut = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const std::size_t below = (row + 1) % rows_.size();
      const std::size_t beside = (column + 1) % columns_.size();
      if ((below > row || grid_.wraps) && at(row, column) != at(below, column)) {
        cut += 2 * width(columns_, column, grid_.columns);
      }
      if ((beside > column || grid_.wraps) && at(row, column) != at(row, beside)) {
        cut += 2 * width(rows_, row, grid_.rows);
      }
    }
  }
  return cut;
}

}  // namespace tessera::machine
