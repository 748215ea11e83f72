// The window of a convolution or pooling as attributes give it.
#pragma once

#include "operands.hpp"

namespace tessera::onnx {

struct Window {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads;  // begins, then ends
};

// Fails for what is no window; so many spatial sides.
Window read_window(const Operands& node, std::size_t sides, const Shape& kernel);

}  // namespace tessera::onnx
