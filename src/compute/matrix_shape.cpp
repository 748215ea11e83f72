#include "tessera/compute/matrix_shape.hpp"

#include <algorithm>
#include <charconv>

namespace tessera::compute {

std::optional<MatrixShape> matrix_shape_from(const std::string& text) {
  MatrixShape shape;
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, shape.rows);
  if (rows.ec != std::errc() || rows.ptr == end || *rows.ptr != 'x') {
    return std::nullopt;
  }
  const auto columns = std::from_chars(rows.ptr + 1, end, shape.columns);
  constexpr std::uint64_t longest_side = 1U << 20;
  const bool good = columns.ec == std::errc() && columns.ptr == end && shape.rows > 0 &&
                    shape.columns > 0 && std::max(shape.rows, shape.columns) <= longest_side;
  return good ? std::optional(shape) : std::nullopt;
}

}  // namespace tessera::compute
