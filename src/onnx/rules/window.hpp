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

// Whether it is a pooling whose window moves by strides.
bool moves_a_window(const Node& node);

// Elements of the image that windows of such a node meet: not all where strides step over some.
std::uint64_t elements_under_windows(const Operands& node);

}  // namespace tessera::onnx
