// Elements at other places: what Gather, Slice, Concat and their like do with values.
#pragma once

#include <optional>
#include <vector>

#include "operands.hpp"

namespace tessera::onnx {

// Of output 0; none for other operators. All inputs have values.
std::optional<Values> evaluate_places(const Operands& node);

// Of all outputs.
void evaluate_split(const Operands& node, std::vector<std::optional<Values>>& results);

}  // namespace tessera::onnx
