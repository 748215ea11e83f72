// Two sides of a matrix, a tile or an array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::compute {

struct MatrixShape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};

// Reads "256x128"; nothing for any other text and for a side of 0 or beyond 2^20.
std::optional<MatrixShape> matrix_shape_from(const std::string& text);

}  // namespace tessera::compute
