// An array in which weights stay, inputs go right and sums go down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tapes.hpp"
#include "tiles.hpp"

namespace tessera::compute {

// The state of all MACs by kind, each kind row by row. In a cycle a row of inputs begins to enter
// from the unified buffer, or none: element i at row i of the array (transposition), i cycles later
// (skew).
template <class T>
class StationaryArray {
 public:
  explicit StationaryArray(const MatrixShape& array)
      : rows_(array.rows),
        columns_(array.columns),
        inputs_(rows_, columns_, rows_),
        weights_(rows_ * columns_),
        sums_((rows_ + 1) * columns_),
        passages_(1, columns_, rows_) {}

  // The cycle to come, from 0.
  std::uint64_t cycle() const { return cycle_; }

  Lane<T>& weight(std::size_t row, std::size_t column) { return weights_[row * columns_ + column]; }

  // All weights move down by a row; the upper one takes those of `tile`, zeros beyond it.
  void load(const OperatorTile<T>& tile, std::uint64_t row) {
    std::copy_backward(weights_.begin(), weights_.end() - columns_, weights_.end());
    std::fill_n(weights_.begin(), columns_, Lane<T>());
    if (row < tile.depth) {
      std::copy_n(tile.weights + row * tile.output_stride, tile.columns, weights_.begin());
    }
    ++cycle_;
  }

  // A cycle of all MACs, in which row `row` of `tile` begins to enter; none without `tile`.
  void step(const OperatorTile<T>* tile, std::uint64_t row, Accumulators<T>& accumulators) {
    inputs_.advance();
    passages_.advance();
    passages_.newest(0) = {tile, row};
    if (tile != nullptr) {
      const T* const from = tile->inputs + row * tile->input_stride;
      for (std::size_t i = 0; i < tile->depth; ++i) {
        inputs_.newest(i) = lane_of<T>(from[i]);
      }
    }
    multiply();
    drain(accumulators);
    ++cycle_;
  }

 private:
  struct Passage {  // what began to enter in a cycle
    const OperatorTile<T>* tile = nullptr;
    std::uint64_t row = 0;
  };

  // From the last row up: sums move down by a row at the same time.
  void multiply() {
    for (std::size_t row = rows_; row-- > 0;) {
      const Register<T>* const above = sums_.data() + row * columns_;
      Register<T>* const below = sums_.data() + (row + 1) * columns_;
      const Lane<T>* const weights = weights_.data() + row * columns_;
      const Lane<T>* const inputs = inputs_.window(row, row);
      for (std::size_t column = 0; column < columns_; ++column) {
        below[column] = above[column] + multiplied<T>(inputs[column], weights[column]);
      }
    }
  }

  // What stands at column j of the last row began to enter rows - 1 + j cycles ago.
  void drain(Accumulators<T>& accumulators) {
    const Register<T>* const last = sums_.data() + rows_ * columns_;
    const Passage* const passages = passages_.window(0, rows_ - 1);
    for (std::size_t column = 0; column < columns_; ++column) {
      const auto [tile, row] = passages[column];
      if (tile != nullptr && column < tile->columns) {
        accumulators.take(*tile, row, column, last[column], cycle_);
      }
    }
  }

  std::size_t rows_;
  std::size_t columns_;
  std::uint64_t cycle_ = 0;
  Tapes<Lane<T>> inputs_;
  std::vector<Lane<T>> weights_;
  std::vector<Register<T>> sums_;  // of each MAC, below a row of zeros
  Tapes<Passage> passages_;
};

}  // namespace tessera::compute
