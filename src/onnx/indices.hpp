// Places of elements in row-major order.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/onnx/tensor.hpp"

namespace tessera::onnx {

// Distance of neighbours along each side.
std::vector<std::size_t> strides_of(const Shape& shape);

// The place along each side of element `index`.
std::vector<std::size_t> place_of(std::size_t index, const Shape& shape);

// The element of a tensor that stands for an element of the shape it is broadcast to.
class BroadcastIndex {
 public:
  BroadcastIndex(const Shape& from, const Shape& to);
  std::size_t at(std::size_t index) const;

 private:
  Shape to_;
  std::vector<std::size_t> strides_;  // 0 along sides of one
};

}  // namespace tessera::onnx
