// Element by element: arithmetic, comparison, rounding, casts, reductions.
#pragma once

#include <optional>

#include "operands.hpp"

namespace tessera::onnx {

// Of output 0; none for other operators and for what has no result, as a division by 0. All inputs
// have values.
std::optional<Values> evaluate_elements(const Operands& node);

}  // namespace tessera::onnx
