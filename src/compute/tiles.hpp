// Products cut into tiles that an array can take, and what such tiles are complete with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "checked.hpp"
#include "tessera/compute/systolic.hpp"

namespace tessera::compute {

// Sums of products of T, as a MAC holds them. int32 wraps, as hardware does; so it is unsigned
// here.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float>, float, std::int32_t>;
template <class T>
using Register = std::conditional_t<std::is_same_v<T, float>, float, std::uint32_t>;
// Operands inside the array: wide enough for vector units to multiply without unpacking twice.
template <class T>
using Lane = std::conditional_t<std::is_same_v<T, float>, float, std::int16_t>;
template <class T>
Lane<T> lane_of(T element) {
  // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number, no character.
  return static_cast<Lane<T>>(element);
}

template <class T>
Register<T> multiplied(Lane<T> a, Lane<T> b) {
  return static_cast<Register<T>>(a * b);
}

template <class T>
void add(Sum<T>& sum, Register<T> more) {
  sum = static_cast<Sum<T>>(static_cast<Register<T>>(sum) + more);
}

// A part of a product: views of its operands and outputs.
template <class T>
struct OperatorTile {
  const T* inputs = nullptr;   // [rows, depth], rows `input_stride` apart
  const T* weights = nullptr;  // [depth, columns], rows `output_stride` apart
  Sum<T>* outputs = nullptr;   // [rows, columns], likewise
  std::uint64_t input_stride = 0;
  std::uint64_t output_stride = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
  std::size_t product = 0;
  bool begins_product = false;
};

// Sides of a tile at most; 0: not cut.
struct TileLimits {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
};

inline std::uint64_t limited(std::uint64_t side, std::uint64_t limit) {
  return limit == 0 ? side : std::min(side, limit);
}

// Rows in the outer loop, then columns, then depth. Tiles refer to the operands and the outputs.
template <class T>
std::vector<OperatorTile<T>> cut(std::span<const Operands<T>> products,
                                 std::vector<std::vector<Sum<T>>>& outputs,
                                 const TileLimits& limits) {
  std::vector<OperatorTile<T>> tiles;
  outputs.resize(products.size());
  for (std::size_t number = 0; number < products.size(); ++number) {
    const Operands<T>& product = products[number];
    const auto [rows, columns, depth, count] = product.shape;
    outputs[number].assign(count * rows * columns, 0);
    const std::uint64_t most_rows = limited(rows, limits.rows);
    const std::uint64_t most_columns = limited(columns, limits.columns);
    const std::uint64_t most_depth = limited(depth, limits.depth);
    bool begins = true;
    for (std::uint64_t row = 0; row < count * rows;) {
      const std::uint64_t which = row / rows;
      const std::uint64_t tile_rows = std::min(most_rows, (which + 1) * rows - row);
      for (std::uint64_t column = 0; column < columns; column += most_columns) {
        for (std::uint64_t from = 0; from < depth; from += most_depth) {
          tiles.push_back({product.inputs.data() + row * depth + from,
                           product.weights.data() + (which * depth + from) * columns + column,
                           outputs[number].data() + row * columns + column, depth, columns,
                           tile_rows, std::min(most_columns, columns - column),
                           std::min(most_depth, depth - from), number, begins});
          begins = false;
        }
      }
      row += tile_rows;
    }
  }
  return tiles;
}

// Adds up what leaves the array, and notes when each product has all that it waits for.
template <class T>
class Accumulators {
 public:
  Accumulators(std::span<const OperatorTile<T>> tiles, std::size_t products)
      : missing_(products), completions_(products) {
    for (const OperatorTile<T>& tile : tiles) {
      missing_[tile.product] += tile.rows * tile.columns;
    }
    waiting_ = products;
  }

  bool all_complete() const { return waiting_ == 0; }

  // In cycle number `cycle`, from 0.
  void take(const OperatorTile<T>& tile, std::uint64_t row, std::uint64_t column, Register<T> sum,
            std::uint64_t cycle) {
    add<T>(tile.outputs[row * tile.output_stride + column], sum);
    if (--missing_[tile.product] == 0) {
      completions_[tile.product] = cycle + 1;
      --waiting_;
    }
  }

  std::vector<std::uint64_t> completions() && { return std::move(completions_); }

 private:
  std::vector<std::uint64_t> missing_;  // sums, by product
  std::vector<std::uint64_t> completions_;
  std::size_t waiting_ = 0;
};

}  // namespace tessera::compute
