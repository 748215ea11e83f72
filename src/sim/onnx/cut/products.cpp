#include "onnx/cut/tools.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

bool turns(const Node& node, const char* flag) {
  return attribute(node, flag, 0) != 0;
}

// Inputs beside the first two: a bias is added to all columns.
void cut_bias(const Node& node, AxesChoice& choice) {
  if (node.inputs.size() > 2 && !is_epilogue_operand(node, node.inputs[2]) &&
      node.inputs[2] != onnx::no_tensor) {
    choice.inputs[2] = 0;
  }
}

AxesChoice by_rows(const OnnxLook& look, const Node& node) {
  AxesChoice choice = all_whole(node, Sharding::row);
  choice.inputs[0] = static_cast<int>(shape_of(look, node.inputs, 0)->size()) - 1;
  choice.inputs[1] = turns(node, "transB") ? 1 : 0;
  return choice;
}

// Of activations with activations, by a side of the batch: heads.
CutChoices by_batch(const OnnxLook& look, const Node& node) {
  const Shape* const left = shape_of(look, node.inputs, 0);
  const Shape* const right = shape_of(look, node.inputs, 1);
  const Shape* const output = shape_of(look, node.outputs, 0);
  CutChoices choices;
  if (left == nullptr || right == nullptr || output == nullptr || left->size() < 2 ||
      right->size() < 2) {
    return choices;
  }
  for (int axis = 0; axis + 2 < static_cast<int>(output->size()); ++axis) {
    const auto of_left = stretched_axis(*left, *output, axis);
    const auto of_right = stretched_axis(*right, *output, axis);
    if ((*output)[static_cast<std::size_t>(axis)] == 1 || !of_left || !of_right) {
      continue;
    }
    AxesChoice choice = all_whole(node, Sharding::heads);
    choice.inputs[0] = *of_left;
    choice.inputs[1] = *of_right;
    choice.outputs[0] = axis;
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

bool is_weight_product(const OnnxLook& look, NodeNumber number) {
  static const std::set<std::string> plain{"MatMul", "FusedMatMul", "TransposeMatMul", "Gemm",
                                           "FusedGemm"};
  const Node& node = look.node(number);
  if (!std::holds_alternative<onnx::Product>(look.work(number)) || !plain.contains(node.op) ||
      node.inputs.size() < 2 || turns(node, "transA")) {
    return false;
  }
  const Shape* const left = shape_of(look, node.inputs, 0);
  const Shape* const right = shape_of(look, node.inputs, 1);
  return left != nullptr && right != nullptr && left->size() >= 2 && right->size() == 2 &&
         look.is_constant(node.inputs[1]) && !look.is_known(node.inputs[0]);
}

AxesChoice cut_by_columns(const OnnxLook& look, const Node& node) {
  AxesChoice choice = all_whole(node, Sharding::column);
  choice.inputs[1] = turns(node, "transB") ? 0 : 1;
  choice.outputs[0] = static_cast<int>(shape_of(look, node.outputs, 0)->size()) - 1;
  const Shape* const bias = shape_of(look, node.inputs, 2);
  if (bias != nullptr && bias->size() == 1 && bias->front() > 1) {
    cut_bias(node, choice);
  }
  return choice;
}

CutChoices cut_products(const OnnxLook& look, NodeNumber number, const Node& node) {
  static const std::set<std::string> plain{"MatMul", "FusedMatMul", "TransposeMatMul"};
  if (is_weight_product(look, number)) {
    return {cut_by_columns(look, node), by_rows(look, node)};
  }
  const bool constant = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorIndex at) {
    return at != onnx::no_tensor && look.is_constant(at) && !is_epilogue_operand(node, at);
  });
  return plain.contains(node.op) && !constant ? by_batch(look, node) : CutChoices{};
}

}  // namespace tessera::sim
