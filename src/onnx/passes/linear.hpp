// What passes over DequantizeLinear and QuantizeLinear share.
#pragma once

#include <cstddef>

#include "editor.hpp"

namespace tessera::onnx {

// Null where the input is left out.
inline TensorIndex input_at(const Node& node, std::size_t place) {
  return place < node.inputs.size() ? node.inputs[place] : no_tensor;
}

// A QuantizeLinear or DequantizeLinear, of the standard set or of com.microsoft, that nothing is
// fused to.
inline bool is_linear(const Editor& editor, NodeIndex at, const char* op) {
  const Node& node = editor.node(at);
  return editor.alive(at) && (node.domain.empty() || node.domain == "com.microsoft") &&
         node.op == op && node.epilogue.empty() && node.unknown.empty() &&
         node.inputs.size() >= 2 && node.outputs.size() == 1 && node.outputs[0] != no_tensor &&
         editor.tensor(node.inputs[0]).shape.has_value();
}

}  // namespace tessera::onnx
