// Computes small tensors while a model is read: shapes are put together by operators.
#pragma once

#include <optional>
#include <vector>

#include "operands.hpp"

namespace tessera::onnx {

// Values of each output, none where they do not follow: an operator that takes no part in shapes,
// an input that is not known, more than most_values elements. The shapes of the outputs stand in
// `node`. As in the specification, but real numbers are doubles whatever their type.
std::vector<std::optional<Values>> evaluate(const Operands& node);

}  // namespace tessera::onnx
