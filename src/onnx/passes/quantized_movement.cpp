// Movement between DequantizeLinear and QuantizeLinear on the quantised numbers, and limits that
// quantising sets anyway.
//
// onnxruntime moves DequantizeLinear behind and QuantizeLinear before what moves elements
// (core/optimizer/qdq_transformer/qdq_propagation.cc), leaves out both around it
// (selectors_actions/qdq_selector_action_transformer.cc), and leaves out a Relu or Clip whose
// bounds the quantised range does not pass (relu_quantizelinear.cc, clip_quantizelinear.cc).
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "passes/linear.hpp"
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

// Elements stay what they are, also those of the largest in a window.
bool moves_elements(const Node& node) {
  static const std::set<std::string> ops{"Expand",  "Flatten", "Gather",    "GatherElements",
                                         "MaxPool", "Reshape", "Resize",    "Slice",
                                         "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  return ops.contains(node.op);
}

// As many elements before as behind.
bool keeps_elements(const Node& node) {
  static const std::set<std::string> ops{"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return ops.contains(node.op);
}

// With one scale for all of a tensor whose elements are there when the model runs.
bool is_of_all(const Editor& editor, NodeIndex at, const char* op) {
  const auto is_one = [&](TensorIndex tensor) {
    return tensor == no_tensor ||
           (editor.is_constant(tensor) && editor.tensor(tensor).elements() == 1);
  };
  const Node& node = editor.node(at);
  return is_linear(editor, at, op) && !editor.is_constant(node.inputs[0]) &&
         is_one(node.inputs[1]) && is_one(input_at(node, 2));
}

// Of one output, moving the elements of its first input.
bool is_movement(const Editor& editor, NodeIndex at) {
  const Node& node = editor.node(at);
  return moves_elements(node) && editor.is(at, node.op.c_str()) && node.inputs[0] != no_tensor &&
         std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                     [](TensorIndex output) { return output == no_tensor; }) &&
         editor.tensor(node.outputs[0]).shape && editor.tensor(node.inputs[0]).shape;
}

// Whether what the node reads besides is there where `place` stands.
bool can_stand_at(const Editor& editor, const Node& node, NodeIndex place) {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](TensorIndex input) {
    const auto maker = editor.maker(input);
    return !maker || *maker < place;
  });
}

// DequantizeLinear before a movement: behind it.
bool move_behind(Editor& editor, NodeIndex linear) {
  if (!is_of_all(editor, linear, "DequantizeLinear")) {
    return false;
  }
  const auto next = editor.only_reader(editor.node(linear).outputs[0]);
  if (!next || !is_movement(editor, *next) ||
      editor.node(*next).inputs[0] != editor.node(linear).outputs[0] ||
      !can_stand_at(editor, editor.node(*next), linear)) {
    return false;
  }
  Node movement = editor.node(*next);
  Node widening = editor.node(linear);
  const Tensor& quantized = editor.tensor(widening.inputs[0]);
  const Tensor& moved = editor.tensor(movement.outputs[0]);
  const TensorIndex between =
      editor.add_activation(moved.name + "/quantized", quantized.type, *moved.shape);
  movement.inputs[0] = widening.inputs[0];
  widening.inputs[0] = between;
  widening.outputs = {movement.outputs[0]};
  movement.outputs = {between};
  editor.remove(*next);
  editor.put(linear, std::move(movement));
  editor.revive(*next, std::move(widening));
  return true;
}

// QuantizeLinear behind a movement of floating-point numbers: before it.
bool move_before(Editor& editor, NodeIndex at) {
  if (!is_movement(editor, at) || !keeps_elements(editor.node(at)) ||
      !editor.only_reader(editor.node(at).inputs[0]) ||
      editor.is_constant(editor.node(at).inputs[0])) {
    return false;
  }
  const auto next = editor.only_reader(editor.node(at).outputs[0]);
  if (!next || !is_of_all(editor, *next, "QuantizeLinear") ||
      editor.node(*next).inputs[0] != editor.node(at).outputs[0]) {
    return false;
  }
  Node movement = editor.node(at);
  Node linear = editor.node(*next);
  const Tensor& wide = editor.tensor(movement.inputs[0]);
  const TensorIndex between = editor.add_activation(
      wide.name + "/quantized", editor.tensor(linear.outputs[0]).type, *wide.shape);
  linear.inputs[0] = movement.inputs[0];
  movement.inputs[0] = between;
  movement.outputs = {linear.outputs[0]};
  linear.outputs = {between};
  editor.remove(*next);
  editor.put(at, std::move(linear));
  editor.revive(*next, std::move(movement));
  return true;
}

double zero_of(const Editor& editor, const Node& linear) {
  const TensorIndex at = input_at(linear, 2);
  return at == no_tensor ? 0 : editor.scalar(at).value_or(std::numeric_limits<double>::quiet_NaN());
}

bool same_constant(const Editor& editor, TensorIndex one, TensorIndex other) {
  const auto a = editor.scalar(one);
  return one == other || (a && a == editor.scalar(other));
}

// QuantizeLinear of what a DequantizeLinear with the same scale and zero point has made.
bool drop_pair(Editor& editor, NodeIndex at) {
  if (!is_of_all(editor, at, "QuantizeLinear")) {
    return false;
  }
  const Node& node = editor.node(at);
  const auto before = editor.maker(node.inputs[0]);
  if (!before || !is_of_all(editor, *before, "DequantizeLinear")) {
    return false;
  }
  const Node& widening = editor.node(*before);
  const bool same_zero =
      (input_at(node, 2) != no_tensor && input_at(node, 2) == input_at(widening, 2)) ||
      zero_of(editor, node) == zero_of(editor, widening);
  const TensorIndex quantized = widening.inputs[0];
  if (!same_zero || !same_constant(editor, node.inputs[1], widening.inputs[1]) ||
      editor.tensor(quantized).type != editor.tensor(node.outputs[0]).type ||
      (editor.is_output(node.outputs[0]) && !editor.maker(quantized))) {
    return false;
  }
  const TensorIndex output = node.outputs[0];
  editor.remove(at);
  editor.replace(output, quantized);
  return true;
}

struct QuantizedRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// What is left after quantising; all numbers where it is not known.
QuantizedRange quantized_range(const Editor& editor, const Node& linear) {
  const ElementType type = editor.tensor(linear.outputs[0]).type;
  const auto scale = editor.scalar(linear.inputs[1]);
  const double zero = zero_of(editor, linear);
  const bool is_byte = type == ElementType::uint8 || type == ElementType::int8;
  if (!is_byte || !scale || zero != zero) {
    return {};
  }
  const double least = type == ElementType::uint8 ? 0 : -128;
  constexpr double steps = 255;
  return {(least - zero) * *scale, (least + steps - zero) * *scale};
}

// The bounds of a Relu or Clip.
std::optional<QuantizedRange> bounds_of(const Editor& editor, NodeIndex at) {
  if (editor.is(at, "Relu")) {
    return QuantizedRange{0, std::numeric_limits<double>::infinity()};
  }
  if (!editor.is(at, "Clip")) {
    return std::nullopt;
  }
  const Node& node = editor.node(at);
  QuantizedRange range;
  const std::array<std::pair<const char*, double*>, 2> bounds{
      {{"min", &range.least}, {"max", &range.most}}};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto& [name, bound] = bounds[i];
    const auto attribute = node.attributes.find(name);
    if (input_at(node, i + 1) != no_tensor) {
      const auto value = editor.scalar(node.inputs[i + 1]);
      if (!value) {
        return std::nullopt;
      }
      *bound = *value;
    } else if (attribute != node.attributes.end()) {
      *bound = std::get<double>(attribute->second);
    }
  }
  return range;
}

// A Relu or Clip that a QuantizeLinear behind it makes needless.
bool drop_bounds(Editor& editor, NodeIndex at) {
  const auto bounds = bounds_of(editor, at);
  const auto next = bounds ? editor.only_reader(editor.node(at).outputs[0]) : std::nullopt;
  if (!next || !is_of_all(editor, *next, "QuantizeLinear") ||
      editor.node(*next).inputs[0] != editor.node(at).outputs[0]) {
    return false;
  }
  const QuantizedRange range = quantized_range(editor, editor.node(*next));
  if (range.least < bounds->least || range.most > bounds->most) {
    return false;
  }
  const Node node = editor.node(at);
  editor.remove(at);
  editor.replace(node.outputs[0], node.inputs[0]);
  return true;
}

}  // namespace

std::uint64_t move_quantized(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (editor.alive(at)) {
      changes += drop_pair(editor, at) || drop_bounds(editor, at) || move_behind(editor, at) ||
                         move_before(editor, at)
                     ? 1
                     : 0;
    }
  }
  return changes;
}

}  // namespace tessera::onnx
