// What Transpose, Split, Slice and Shape do, for shapes and for values alike.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "operands.hpp"

namespace tessera::onnx {

// Axis of the input behind each axis of the output; fails for what is no permutation.
std::vector<std::size_t> transposed_axes(const Operands& node);

// Sides of the parts; equal ones, the last smaller, when none are given.
std::vector<std::int64_t> split_parts(const Operands& node, std::int64_t side, std::size_t outputs);

// Of a Slice, along one axis.
struct Cut {
  std::size_t axis = 0;
  std::int64_t from = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
std::vector<Cut> cuts_of(const Operands& node);

// Sides that a Shape gives: from the first to before the second.
std::pair<std::size_t, std::size_t> shape_range(const Operands& node);

}  // namespace tessera::onnx
