// Weights of few bits, packed: read as they are by the products and convolutions that widen them.
//
// A DequantizeLinear of constants goes where all who read its output can widen it themselves; the
// constant takes its place, and scales and zero points become further inputs. A Transpose between
// them is done on the constant. Where one reader is of another kind it stays, with what it costs.
#include <algorithm>
#include <set>
#include <string>

#include "layout.hpp"
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

constexpr std::size_t weights_place = 1;
constexpr std::size_t bias_place = 2;

bool takes_weights(const Node& node) {
  static const std::set<std::string> kinds{"MatMul",
                                           "Gemm",
                                           "Conv",
                                           "ConvTranspose",
                                           "com.microsoft.FusedConv",
                                           "com.microsoft.FusedGemm",
                                           "com.microsoft.FusedMatMul",
                                           "com.microsoft.TransposeMatMul"};
  const std::string kind = node.domain.empty() ? node.op : node.domain + "." + node.op;
  return node.unknown.empty() && kinds.contains(kind);
}

bool is_operand(const Node& node, TensorIndex tensor) {
  return std::any_of(node.epilogue.begin(), node.epilogue.end(), [&](const Epilogue& step) {
    return std::count(step.operands.begin(), step.operands.end(), tensor) > 0;
  });
}

// As weights, or as the bias of an operator that has one.
bool can_widen(const Node& node, TensorIndex tensor) {
  if (!takes_weights(node) || is_operand(node, tensor) ||
      std::count(node.inputs.begin(), node.inputs.end(), tensor) != 1) {
    return false;
  }
  const auto at = static_cast<std::size_t>(
      std::find(node.inputs.begin(), node.inputs.end(), tensor) - node.inputs.begin());
  return at == weights_place || at == bias_place;
}

// Of constants whose elements it keeps in place.
bool widens_constant(const Editor& editor, NodeIndex at) {
  if (!editor.alive(at)) {
    return false;
  }
  const Node& node = editor.node(at);
  const bool known = node.domain.empty() || node.domain == "com.microsoft";
  return known && node.op == "DequantizeLinear" && node.unknown.empty() && node.epilogue.empty() &&
         node.inputs.size() >= 2 && node.outputs.size() == 1 &&
         editor.same_shape(node.inputs[0], node.outputs[0]) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorIndex input) {
           return input == no_tensor || editor.is_constant(input);
         });
}

bool all_can_widen(const Editor& editor, TensorIndex tensor) {
  const std::set<NodeIndex>& readers = editor.readers(tensor);
  return !editor.is_output(tensor) && !readers.empty() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeIndex reader) { return can_widen(editor.node(reader), tensor); });
}

// Who reads `widened` reads `packed` and what widens it.
void hand_on(Editor& editor, TensorIndex widened, TensorIndex packed,
             const std::vector<TensorIndex>& by) {
  const std::set<NodeIndex> readers = editor.readers(widened);
  for (const NodeIndex reader : readers) {
    Node node = editor.node(reader);
    std::replace(node.inputs.begin(), node.inputs.end(), widened, packed);
    // Inputs by position stay where the rule of the node looks for them.
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), bias_place + 1), no_tensor);
    for (const TensorIndex input : by) {
      node.inputs.push_back(input);
      node.widened_by.push_back(input);
    }
    editor.put(reader, std::move(node));
  }
}

bool take_in(Editor& editor, NodeIndex at) {
  const Node node = editor.node(at);
  TensorIndex widened = node.outputs[0];
  TensorIndex packed = node.inputs[0];
  const auto next = editor.only_reader(widened);
  const bool turns = next && editor.is(*next, "Transpose");
  if (turns) {
    widened = editor.node(*next).outputs[0];
  }
  if (!all_can_widen(editor, widened)) {
    return false;
  }
  if (turns) {
    const Tensor constant = editor.tensor(packed);
    packed = editor.add_constant(constant.name + "/transposed", constant.type,
                                 *editor.tensor(widened).shape);
  }
  std::vector<TensorIndex> by(node.inputs.begin() + 1, node.inputs.end());
  by.erase(std::remove(by.begin(), by.end(), no_tensor), by.end());
  hand_on(editor, widened, packed, by);
  if (turns) {
    editor.remove(*next);
  }
  editor.remove(at);
  return true;
}

}  // namespace

std::uint64_t take_in_packed_weights(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    changes += widens_constant(editor, at) && take_in(editor, at) ? 1 : 0;
  }
  return changes;
}

}  // namespace tessera::onnx
