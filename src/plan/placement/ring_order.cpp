#include "tessera/plan/placement/placement.hpp"

namespace tessera::plan {
namespace {

using Cell = std::pair<std::uint32_t, std::uint32_t>;

// A Hamiltonian cycle for an even number of rows (at least two) and at least two columns: rows
// back and forth beside the first column, which leads back up. With an odd number of rows the last
// two are taken column by column, which leaves one step of two hops at the end.
std::vector<Cell> cycle(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Cell> order;
  const std::uint32_t plain = rows % 2 == 0 ? rows : rows - 2;
  for (std::uint32_t row = 0; row < plain; ++row) {
    for (std::uint32_t i = row == 0 ? 0 : 1; i < columns; ++i) {
      order.emplace_back(row, row % 2 == 0 ? i : columns - i);
    }
  }
  if (plain < rows) {
    for (std::uint32_t column = columns - 1; column > 0; --column) {
      const bool first_up = (columns - 1 - column) % 2 == 0;
      order.emplace_back(first_up ? rows - 2 : rows - 1, column);
      order.emplace_back(first_up ? rows - 1 : rows - 2, column);
    }
  }
  for (std::uint32_t row = rows - 1; row > 0; --row) {
    order.emplace_back(row, 0);
  }
  return order;
}

}  // namespace

std::vector<Cell> ring_order(std::uint32_t rows, std::uint32_t columns) {
  std::vector<Cell> order;
  if (rows == 1 || columns == 1) {
    const std::uint32_t length = rows * columns;
    const auto cell = [&](std::uint32_t i) { return rows == 1 ? Cell{0, i} : Cell{i, 0}; };
    for (std::uint32_t i = 0; i < length; i += 2) {
      order.push_back(cell(i));
    }
    for (std::uint32_t i = length - length % 2; i > 0; i -= 2) {
      order.push_back(cell(i - 1));
    }
    return order;
  }
  if (rows % 2 == 0 || columns % 2 == 1) {
    return cycle(rows, columns);
  }
  for (const Cell& transposed : cycle(columns, rows)) {
    order.emplace_back(transposed.second, transposed.first);
  }
  return order;
}

}  // namespace tessera::plan
