// Operators between DequantizeLinear and QuantizeLinear as those that compute on the quantised
// numbers.
//
// What the runtime makes of which operator is in onnxruntime's
// core/optimizer/qdq_transformer/selectors_actions (qdq_selector_action_transformer.cc and
// qdq_selectors.cc, which types go together) and
// core/optimizer/qdq_transformer/relu_quantizelinear.cc and clip_quantizelinear.cc; what it asks
// for of types is asked for here. Beyond it fp8 is fused as integers are, a bias need not be
// quantised, and a bias, skip or activation that the product does itself may stand before the
// QuantizeLinear.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "passes/linear.hpp"
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

// A tensor of 8 bits that an operand is dequantised from, with its scale and zero point.
struct QuantizedTensor {
  TensorIndex tensor = no_tensor;
  TensorIndex scale = no_tensor;
  TensorIndex zero = no_tensor;
};

constexpr std::uint64_t quantised_bits = 8;

bool is_quantised(ElementType type) {
  const bool is_number = type != ElementType::boolean && type != ElementType::float8_e8m0;
  return is_number && bits_of(type) == quantised_bits;
}

QuantizedTensor quantized_of(const Node& linear) {
  return {linear.inputs[0], linear.inputs[1], input_at(linear, 2)};
}

// What an operand is dequantised from.
std::optional<QuantizedTensor> dequantized(const Editor& editor, TensorIndex operand) {
  const auto maker = editor.maker(operand);
  if (!maker || !is_linear(editor, *maker, "DequantizeLinear") ||
      !is_quantised(editor.tensor(editor.node(*maker).inputs[0]).type)) {
    return std::nullopt;
  }
  return quantized_of(editor.node(*maker));
}

// The QuantizeLinear that alone reads the output.
std::optional<NodeIndex> quantizer_of(const Editor& editor, const Node& node) {
  const auto next = editor.only_reader(node.outputs[0]);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_tensor) {
      return std::nullopt;
    }
  }
  const bool fits = next && is_linear(editor, *next, "QuantizeLinear") &&
                    editor.node(*next).inputs[0] == node.outputs[0] &&
                    is_quantised(editor.tensor(editor.node(*next).outputs[0]).type);
  return fits ? next : std::nullopt;
}

bool is_float8(const Editor& editor, TensorIndex at) {
  return is_real(editor.tensor(at).type);
}

// int8 goes with int8 only, uint8 with both.
bool go_together(const Editor& editor, TensorIndex activations, TensorIndex weights) {
  const ElementType left = editor.tensor(activations).type;
  const ElementType right = editor.tensor(weights).type;
  return is_real(left) == is_real(right) && (left != ElementType::int8 || left == right);
}

bool has_type_of(const Editor& editor, TensorIndex one, TensorIndex other) {
  return editor.tensor(one).type == editor.tensor(other).type;
}

// ---- products and convolutions

// A product or convolution whose operands come quantised.
struct QuantizedPair {
  QuantizedTensor left;  // without scale and zero point where the node widens it itself
  QuantizedTensor right;
};

// An operand that the node widens itself.
std::optional<QuantizedTensor> widened(const Editor& editor, const Node& node, std::size_t place) {
  const TensorIndex at = input_at(node, place);
  const bool is_own =
      at != no_tensor && !node.widened_by.empty() && is_quantised(editor.tensor(at).type);
  return is_own ? std::optional(QuantizedTensor{at, no_tensor, no_tensor}) : std::nullopt;
}

std::optional<QuantizedTensor> operand_of(const Editor& editor, const Node& node,
                                          std::size_t place) {
  const auto found = dequantized(editor, input_at(node, place));
  return found ? found : widened(editor, node, place);
}

std::optional<QuantizedPair> pair_of(const Editor& editor, const Node& node) {
  const auto left = operand_of(editor, node, 0);
  const auto right = operand_of(editor, node, 1);
  if (!left || !right || !go_together(editor, left->tensor, right->tensor)) {
    return std::nullopt;
  }
  return QuantizedPair{*left, *right};
}

struct ProductForm {
  const char* domain;
  const char* op;
  std::size_t bias;  // place of the bias; 0: none
};

// With a quantised output.
const ProductForm* form_of(const Node& node) {
  static const std::map<std::string, ProductForm> forms{
      {"MatMul", {"", "QLinearMatMul", 0}},
      {"Conv", {"", "QLinearConv", 8}},
      {"com.microsoft.FusedConv", {"", "QLinearConv", 8}},
      {"Gemm", {"com.microsoft", "QGemm", 6}},
      {"com.microsoft.FusedGemm", {"com.microsoft", "QGemm", 6}}};
  const auto found = forms.find(node.domain.empty() ? node.op : node.domain + "." + node.op);
  return found == forms.end() || !node.unknown.empty() ? nullptr : &found->second;
}

// Operands that stand behind those with places: of fused steps, and what widens weights.
void take_others(const Node& from, Node& to) {
  for (const Epilogue& step : from.epilogue) {
    to.inputs.insert(to.inputs.end(), step.operands.begin(), step.operands.end());
  }
  to.inputs.insert(to.inputs.end(), from.widened_by.begin(), from.widened_by.end());
}

// The bias where its place is, dequantised where it was; of other types behind the sum.
void take_bias(const Editor& editor, const Node& from, std::size_t place, Node& to) {
  const TensorIndex bias = input_at(from, 2);
  const bool is_step =
      std::any_of(from.epilogue.begin(), from.epilogue.end(), [&](const Epilogue& step) {
        return std::count(step.operands.begin(), step.operands.end(), bias) > 0;
      });
  if (bias == no_tensor || place == 0 || is_step) {
    return;
  }
  const auto maker = editor.maker(bias);
  const bool is_dequantised = maker && is_linear(editor, *maker, "DequantizeLinear");
  to.inputs[place] = is_dequantised ? editor.node(*maker).inputs[0] : bias;
}

bool is_constant_bias(const Editor& editor, const Node& node) {
  const TensorIndex bias = input_at(node, 2);
  const auto maker = editor.maker(bias);
  return bias == no_tensor || editor.is_constant(bias) ||
         (maker && is_linear(editor, *maker, "DequantizeLinear") &&
          editor.is_constant(editor.node(*maker).inputs[0]));
}

Node product_of_pair(const Editor& editor, const Node& node, const QuantizedPair& pair,
                     const ProductForm& form, const QuantizedTensor& output) {
  Node made = node;
  made.domain = form.domain;
  made.op = form.op;
  made.version = 1;
  const QuantizedTensor& a = pair.left;
  const QuantizedTensor& b = pair.right;
  if (made.op == "QGemm") {
    made.inputs = {a.tensor, a.scale,   a.zero,       b.tensor,   b.scale,
                   b.zero,   no_tensor, output.scale, output.zero};
  } else {
    made.inputs = {a.tensor, a.scale,      a.zero,      b.tensor, b.scale,
                   b.zero,   output.scale, output.zero, no_tensor};
  }
  take_bias(editor, node, form.bias, made);
  take_others(node, made);
  return made;
}

// DequantizeLinear of both operands, the operator, QuantizeLinear.
bool fuse_to_quantized(Editor& editor, NodeIndex at) {
  const Node& node = editor.node(at);
  const ProductForm* const form = form_of(node);
  const auto quantizer = form != nullptr ? quantizer_of(editor, node) : std::nullopt;
  const auto pair = quantizer ? pair_of(editor, node) : std::nullopt;
  if (!pair || (form->bias > 0 && !is_constant_bias(editor, node)) ||
      !has_type_of(editor, pair->left.tensor, editor.node(*quantizer).outputs[0])) {
    return false;
  }
  const Node behind = editor.node(*quantizer);
  QuantizedTensor output = quantized_of(behind);
  Node made = product_of_pair(editor, node, *pair, *form, output);
  made.outputs = {behind.outputs[0]};
  editor.remove(at);
  editor.put(*quantizer, std::move(made));
  return true;
}

// The same without QuantizeLinear, of products alone: the output is a floating-point number.
bool fuse_to_float(Editor& editor, NodeIndex at) {
  const Node node = editor.node(at);
  const bool is_matmul = node.domain.empty() && node.op == "MatMul" && node.unknown.empty();
  const bool is_gemm = node.domain.empty() && node.op == "Gemm" && node.unknown.empty();
  const auto pair = is_matmul || is_gemm ? pair_of(editor, node) : std::nullopt;
  const bool is_done = pair && pair->left.scale == no_tensor;
  if (!pair || is_done || (is_gemm && !is_constant_bias(editor, node))) {
    return false;
  }
  Node made = node;
  if (is_gemm) {
    made = product_of_pair(editor, node, *pair, *form_of(node), {});
  } else if (is_float8(editor, pair->left.tensor)) {  // no operator has it: it stays a MatMul
    const bool both = pair->right.scale != no_tensor;
    made.inputs = {pair->left.tensor, pair->right.tensor, no_tensor};
    for (const TensorIndex by :
         {pair->left.scale, pair->left.zero, both ? pair->right.scale : no_tensor,
          both ? pair->right.zero : no_tensor}) {
      if (by != no_tensor) {
        made.widened_by.push_back(by);
      }
    }
    take_others(made, made);
  } else {
    made.domain = "com.microsoft";
    made.op = "MatMulIntegerToFloat";
    made.version = 1;
    made.inputs = {pair->left.tensor, pair->right.tensor, pair->left.scale, pair->right.scale,
                   pair->left.zero,   pair->right.zero,   no_tensor};
    take_others(node, made);
  }
  editor.put(at, std::move(made));
  return true;
}

// MatMulIntegerToFloat, to which steps may have been fused since, before a QuantizeLinear.
bool quantize_output(Editor& editor, NodeIndex at) {
  const Node node = editor.node(at);
  const bool fits = node.domain == "com.microsoft" && node.unknown.empty() &&
                    (node.op == "MatMulIntegerToFloat" || node.op == "QGemm") &&
                    (node.op != "QGemm" || input_at(node, 7) == no_tensor);
  const auto quantizer = fits ? quantizer_of(editor, node) : std::nullopt;
  if (!quantizer || !has_type_of(editor, node.inputs[0], editor.node(*quantizer).outputs[0])) {
    return false;
  }
  const Node behind = editor.node(*quantizer);
  const QuantizedTensor output = quantized_of(behind);
  Node made = node;
  if (node.op == "QGemm") {
    made.inputs[7] = output.scale;
    made.inputs[8] = output.zero;
  } else if (input_at(node, 6) != no_tensor) {
    return false;  // QLinearMatMul has no bias
  } else {
    made.domain = "";
    made.op = "QLinearMatMul";
    made.inputs = {node.inputs[0], node.inputs[2], node.inputs[4], node.inputs[1], node.inputs[3],
                   node.inputs[5], output.scale,   output.zero,    no_tensor};
    take_others(node, made);
  }
  made.outputs = {behind.outputs[0]};
  editor.remove(at);
  editor.put(*quantizer, std::move(made));
  return true;
}

// ---- vector work

// Of one or two quantised operands, in the order of their places.
struct QuantizedForm {
  const char* op;
  std::size_t operands;
};

const QuantizedForm* vector_form_of(const Editor& editor, NodeIndex at) {
  static const std::map<std::string, QuantizedForm> forms{
      {"Add", {"QLinearAdd", 2}},
      {"Mul", {"QLinearMul", 2}},
      {"AveragePool", {"QLinearAveragePool", 1}},
      {"GlobalAveragePool", {"QLinearGlobalAveragePool", 1}},
      {"LeakyRelu", {"QLinearLeakyRelu", 1}},
      {"Sigmoid", {"QLinearSigmoid", 1}},
      {"Softmax", {"QLinearSoftmax", 1}}};
  const Node& node = editor.node(at);
  const auto found = forms.find(node.op);
  if (found == forms.end() || !editor.is(at, found->first.c_str()) ||
      node.inputs.size() != found->second.operands) {
    return nullptr;
  }
  return &found->second;
}

// That of com.microsoft goes over the last axis.
bool goes_over_the_last_axis(const Editor& editor, const Node& node) {
  const auto& shape = editor.tensor(node.inputs[0]).shape;
  const auto axis = node.attributes.find("axis");
  const std::int64_t usual = node.version < 13 ? 1 : -1;
  const auto* const given =
      axis == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&axis->second);
  const std::int64_t at = given == nullptr ? usual : *given;
  return shape && (at == -1 || at + 1 == static_cast<std::int64_t>(shape->size()));
}

// Numbers, scale and zero point of each operand of a node, where all of them are dequantised
// numbers of the type that its output is quantised to.
std::optional<std::vector<TensorIndex>> quantized_operands(const Editor& editor, const Node& node,
                                                           const Node& behind) {
  std::vector<TensorIndex> operands;
  for (const TensorIndex operand : node.inputs) {
    const auto one = dequantized(editor, operand);
    if (!one || is_float8(editor, one->tensor) ||
        !has_type_of(editor, one->tensor, behind.outputs[0])) {
      return std::nullopt;
    }
    operands.insert(operands.end(), {one->tensor, one->scale, one->zero});
  }
  return operands;
}

// In place of the node and of what quantises its output.
void put_quantized(Editor& editor, NodeIndex at, NodeIndex quantizer, std::string op,
                   std::vector<TensorIndex> inputs) {
  Node made = editor.node(at);
  made.domain = "com.microsoft";
  made.op = std::move(op);
  made.version = 1;
  made.inputs = std::move(inputs);
  made.outputs = {editor.node(quantizer).outputs[0]};
  editor.remove(at);
  editor.put(quantizer, std::move(made));
}

bool fuse_vector_work(Editor& editor, NodeIndex at) {
  const QuantizedForm* const form = vector_form_of(editor, at);
  const auto quantizer = form != nullptr ? quantizer_of(editor, editor.node(at)) : std::nullopt;
  if (!quantizer) {
    return false;
  }
  const Node& node = editor.node(at);
  const Node& behind = editor.node(*quantizer);
  if (node.op == "Softmax" && !goes_over_the_last_axis(editor, node)) {
    return false;
  }
  auto inputs = quantized_operands(editor, node, behind);
  if (!inputs) {
    return false;
  }
  inputs->insert(inputs->end(), {behind.inputs[1], input_at(behind, 2)});
  put_quantized(editor, at, *quantizer, form->op, std::move(*inputs));
  return true;
}

bool fuse_concat(Editor& editor, NodeIndex at) {
  const auto quantizer =
      editor.is(at, "Concat") ? quantizer_of(editor, editor.node(at)) : std::nullopt;
  if (!quantizer) {
    return false;
  }
  const Node& behind = editor.node(*quantizer);
  auto inputs = quantized_operands(editor, editor.node(at), behind);
  if (!inputs) {
    return false;
  }
  inputs->insert(inputs->begin(), {behind.inputs[1], input_at(behind, 2)});
  put_quantized(editor, at, *quantizer, "QLinearConcat", std::move(*inputs));
  return true;
}

}  // namespace

std::uint64_t compute_on_quantized(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.alive(at) || editor.node(at).outputs.empty() ||
        editor.node(at).outputs[0] == no_tensor) {
      continue;
    }
    changes += fuse_to_quantized(editor, at) || quantize_output(editor, at) ||
                       fuse_to_float(editor, at) || fuse_vector_work(editor, at) ||
                       fuse_concat(editor, at)
                   ? 1
                   : 0;
  }
  return changes;
}

}  // namespace tessera::onnx
