#include "onnx/cut/tools.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "onnx/quantized.hpp"

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

bool turns(const Node& node, const char* flag) {
  return attribute(node, flag, 0) != 0;
}

// Packed weights of few bits lie by columns, [columns, blocks, bytes].
bool is_packed(const Node& node) {
  return node.op == "MatMulNBits";
}

std::size_t columns_axis(const Node& node) {
  return turns(node, "transB") || is_packed(node) ? 0 : 1;
}

// The bias of a product is added to all columns.
std::size_t bias_place(const Node& node) {
  static const std::map<std::string, std::size_t> places{{"DynamicQuantizeMatMul", 4},
                                                         {"MatMulInteger", none},
                                                         {"MatMulIntegerToFloat", 6},
                                                         {"MatMulNBits", 5},
                                                         {"QGemm", 6},
                                                         {"QLinearMatMul", none}};
  const auto found = places.find(node.op);
  return found == places.end() ? 2 : found->second;
}

void cut_bias(const OnnxSurvey& survey, const Node& node, AxesChoice& choice) {
  const std::size_t place = bias_place(node);
  const Shape* const bias = shape_of(survey, node.inputs, place);
  if (bias != nullptr && bias->size() == 1 && bias->front() > 1 &&
      !is_epilogue_operand(node, node.inputs[place])) {
    choice.inputs[place] = 0;
  }
}

// Scales and zero points of the weights: one for each column goes with its column, those of blocks
// of a column with the depth too.
void cut_scales(const OnnxSurvey& survey, const Node& node, AxesChoice& choice) {
  const Shape& weights = *shape_of(survey, node.inputs, weights_place(node));
  const auto columns = static_cast<std::uint64_t>(weights[columns_axis(node)]);
  const std::uint64_t fewest = choice.sharding == Sharding::column ? 2 : columns + 1;
  const QuantizedPlaces* const quantized = find_quantized(node);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape* const shape = shape_of(survey, node.inputs, i);
    const bool is_beside =
        (quantized != nullptr &&
         std::count(quantized->beside.begin(), quantized->beside.end(), i) > 0) ||
        std::count(node.widened_by.begin(), node.widened_by.end(), node.inputs[i]) > 0;
    if (shape != nullptr && is_beside && survey.is_constant(node.inputs[i]) &&
        onnx::elements_of(*shape) >= fewest) {
      choice.inputs[i] = 0;
    }
  }
}

AxesChoice by_rows(const OnnxSurvey& survey, const Node& node) {
  AxesChoice choice = all_whole(node, Sharding::row);
  choice.inputs[0] = static_cast<int>(shape_of(survey, node.inputs, 0)->size()) - 1;
  choice.inputs[weights_place(node)] = 1 - static_cast<int>(columns_axis(node));
  cut_scales(survey, node, choice);
  return choice;
}

// Of activations with activations, by a side of the batch: heads.
CutChoices by_batch(const OnnxSurvey& survey, const Node& node) {
  const std::size_t place = weights_place(node);
  const Shape* const left = shape_of(survey, node.inputs, 0);
  const Shape* const right = shape_of(survey, node.inputs, place);
  const Shape* const output = shape_of(survey, node.outputs, 0);
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
    choice.inputs[place] = *of_right;
    choice.outputs[0] = axis;
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

bool is_weight_product(const OnnxSurvey& survey, NodeNumber number) {
  static const std::set<std::string> plain{"MatMul", "FusedMatMul", "TransposeMatMul", "Gemm",
                                           "FusedGemm"};
  const Node& node = survey.node(number);
  const bool is_known_form = plain.contains(node.op) || find_quantized(node) != nullptr;
  const std::size_t place = weights_place(node);
  if (!std::holds_alternative<onnx::Product>(survey.work(number)) || !is_known_form ||
      turns(node, "transA")) {
    return false;
  }
  const Shape* const left = shape_of(survey, node.inputs, 0);
  const Shape* const right = shape_of(survey, node.inputs, place);
  return left != nullptr && right != nullptr && left->size() >= 2 &&
         right->size() == (is_packed(node) ? 3 : 2) && survey.is_constant(node.inputs[place]) &&
         !survey.is_known(node.inputs[0]);
}

AxesChoice cut_by_columns(const OnnxSurvey& survey, const Node& node) {
  AxesChoice choice = all_whole(node, Sharding::column);
  choice.inputs[weights_place(node)] = static_cast<int>(columns_axis(node));
  choice.outputs[0] = static_cast<int>(shape_of(survey, node.outputs, 0)->size()) - 1;
  cut_bias(survey, node, choice);
  cut_scales(survey, node, choice);
  return choice;
}

CutChoices cut_products(const OnnxSurvey& survey, NodeNumber number, const Node& node) {
  static const std::set<std::string> plain{"MatMul",          "FusedMatMul",
                                           "TransposeMatMul", "MatMulInteger",
                                           "QLinearMatMul",   "MatMulIntegerToFloat"};
  if (is_weight_product(survey, number)) {
    return {cut_by_columns(survey, node), by_rows(survey, node)};
  }
  return plain.contains(node.op) && !reads_weights(survey, node) ? by_batch(survey, node)
                                                                 : CutChoices{};
}

}  // namespace tessera::sim
