// Operands of an array in which sums stay: inputs go right, weights go down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tapes.hpp"
#include "tiles.hpp"

namespace tessera::compute {

// In a cycle a step of the depth begins to enter, or none: a column of inputs, element i at row i
// and i cycles later, and a row of weights, element j at column j and j cycles later.
template <class T>
class FlowingOperands {
 public:
  explicit FlowingOperands(const MatrixShape& array)
      : rows_(array.rows),
        columns_(array.columns),
        inputs_(rows_, columns_, rows_),
        weights_((rows_ + columns_) * columns_) {}

  void enter(const OperatorTile<T>* tile, std::uint64_t step) {
    inputs_.advance();
    top_ = (top_ + 1) % (rows_ + columns_);
    const std::uint64_t rows = tile != nullptr ? tile->rows : 0;
    const std::uint64_t columns = tile != nullptr ? tile->columns : 0;
    for (std::size_t i = 0; i < rows; ++i) {
      inputs_.newest(i) = lane_of<T>(tile->inputs[i * tile->input_stride + step]);
    }
    // Element j goes where the top row will be in j cycles.
    std::size_t at = top_;
    for (std::size_t j = 0; j < columns_; ++j) {
      weights_[at * columns_ + j] =
          j < columns ? tile->weights[step * tile->output_stride + j] : Lane<T>();
      at = at + 1 == rows_ + columns_ ? 0 : at + 1;
    }
  }

  // Of the MACs of a row, in this cycle.
  const Lane<T>* inputs(std::size_t row) const { return inputs_.window(row, row); }
  const Lane<T>* weights(std::size_t row) const {
    const std::size_t at = top_ >= row ? top_ - row : top_ + rows_ + columns_ - row;
    return weights_.data() + at * columns_;
  }

 private:
  std::size_t rows_;
  std::size_t columns_;
  Tapes<Lane<T>> inputs_;
  // Rows that move down through the array as `top_` moves on: [rows + columns, columns], a ring.
  std::vector<Lane<T>> weights_;
  std::size_t top_ = 0;
};

}  // namespace tessera::compute
