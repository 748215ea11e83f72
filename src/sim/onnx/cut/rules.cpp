#include "onnx/cut/rules.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "onnx/cut/tools.hpp"

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

// Operands of the fused steps go with the first output; false: one does not fit.
bool cut_epilogue(const OnnxSurvey& survey, const Node& node, AxesChoice& choice) {
  if (choice.outputs[0] == whole) {
    return true;
  }
  const Shape* const output = shape_of(survey, node.outputs, 0);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == onnx::no_tensor || !is_epilogue_operand(node, node.inputs[i])) {
      continue;
    }
    const Shape* const operand = shape_of(survey, node.inputs, i);
    const auto axis = operand != nullptr && output != nullptr
                          ? stretched_axis(*operand, *output, choice.outputs[0])
                          : std::nullopt;
    if (!axis) {
      return false;
    }
    choice.inputs[i] = *axis;
  }
  return true;
}

bool agrees(const AxesChoice& choice, const CutPlace& place) {
  const std::vector<int>& list = place.of_input ? choice.inputs : choice.outputs;
  return list[place.at] == place.axis;
}

// Those that cut the tensor where the cut comes from.
CutChoices fitting(const OnnxSurvey& survey, const Node& node, CutChoices choices,
                   const CutPlace& place) {
  std::erase_if(choices, [&](AxesChoice& choice) {
    return !cut_epilogue(survey, node, choice) || !agrees(choice, place);
  });
  return choices;
}

// Of the first input and output alone; what else is read is the same for all.
CutChoices along(const OnnxSurvey& survey, const Node& node, const CutPlace& place) {
  const Shape* const input = shape_of(survey, node.inputs, 0);
  const Shape* const output = shape_of(survey, node.outputs, 0);
  if (place.at != 0 || input == nullptr || output == nullptr || input->size() != output->size()) {
    return {};
  }
  const auto axis = static_cast<std::size_t>(place.axis);
  if ((*input)[axis] != (*output)[axis]) {
    return {};
  }
  AxesChoice choice = all_whole(node, Sharding::heads);
  choice.inputs[0] = choice.outputs[0] = place.axis;
  return {choice};
}

// First axis that a norm or softmax goes over.
int first_row_axis(const Node& node, std::size_t rank) {
  const bool old_softmax = node.op.find("max") != std::string::npos && node.version < 13;
  const bool by_axis = node.attributes.contains("axis") || old_softmax;
  return by_axis ? axis_from_front(attribute(node, "axis", 1), rank) : static_cast<int>(rank) - 1;
}

// Rows are each done by one member: the cut must not go through them.
CutChoices rows(const OnnxSurvey& survey, const Node& node, const onnx::RowWork& work,
                const CutPlace& place) {
  static const std::set<std::string> known{"Softmax",
                                           "LogSoftmax",
                                           "QLinearSoftmax",
                                           "LayerNormalization",
                                           "SimplifiedLayerNormalization",
                                           "RMSNormalization"};
  if (work.form == onnx::RowWork::Form::reduction) {
    return attribute(node, "keepdims", 1) != 0 ? along(survey, node, place) : CutChoices{};
  }
  const Shape* const input = shape_of(survey, node.inputs, 0);
  if (!known.contains(node.op) || input == nullptr) {
    return {};
  }
  const int first = first_row_axis(node, input->size());
  const bool alone = node.op.find("max") != std::string::npos && node.version >= 13;
  const bool inside = alone ? place.axis == first : place.axis >= first;
  return inside ? CutChoices{} : along(survey, node, place);
}

// Each member quantises what it has with the range of all, two numbers whose exchange is not
// counted.
CutChoices quantized_dynamically(const Node& node, const CutPlace& place) {
  if (place.at != 0) {
    return {};
  }
  AxesChoice choice = all_whole(node, Sharding::heads);
  choice.inputs[0] = choice.outputs[0] = place.axis;
  return {choice};
}

bool is_broadcast(const Node& node) {
  static const std::set<std::string> others{"BatchNormalization",
                                            "Col2Im",
                                            "CumSum",
                                            "DynamicQuantizeLinear",
                                            "EmbedLayerNormalization",
                                            "GroupNorm",
                                            "LRN",
                                            "Normalizer",
                                            "PRelu",
                                            "Resize",
                                            "Upsample"};
  return !others.contains(node.op);
}

bool is_rotation(const Node& node) {
  return node.op == "RotaryEmbedding";
}

CutChoices choices_of(const OnnxSurvey& survey, NodeNumber number, const CutPlace& place) {
  const Node& node = survey.node(number);
  const onnx::Work& work = survey.work(number);
  if (std::holds_alternative<onnx::Product>(work)) {
    return cut_products(survey, number, node);
  }
  if (const auto* const attention = std::get_if<onnx::Attention>(&work)) {
    return cut_attention(survey, node, *attention);
  }
  if (const auto* const row = std::get_if<onnx::RowWork>(&work)) {
    return rows(survey, node, *row, place);
  }
  if (std::holds_alternative<onnx::View>(work)) {
    return cut_view(survey, number, node, place);
  }
  if (std::holds_alternative<onnx::Append>(work)) {
    return cut_parts(node, place, 2, 1);
  }
  if (node.op == "DynamicQuantizeLinear") {
    return quantized_dynamically(node, place);
  }
  if (std::holds_alternative<onnx::ElementWise>(work) && is_broadcast(node)) {
    return is_rotation(node) ? along(survey, node, place) : cut_element_wise(survey, node, place);
  }
  const bool moves =
      std::holds_alternative<onnx::Movement>(work) || std::holds_alternative<onnx::Lookup>(work);
  return moves ? cut_movement(survey, node, place) : CutChoices{};
}

}  // namespace

CutChoices cut_element_wise(const OnnxSurvey& survey, const Node& node, const CutPlace& place) {
  const Shape* const output = shape_of(survey, node.outputs, 0);
  if (output == nullptr || node.outputs.size() != 1) {
    return {};
  }
  int axis = place.axis;
  if (place.of_input) {
    axis += static_cast<int>(output->size()) -
            static_cast<int>(survey.tensor(node.inputs[place.at]).shape->size());
  }
  if (axis < 0) {
    return {};
  }
  AxesChoice choice = all_whole(node, Sharding::heads);
  choice.outputs[0] = axis;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == onnx::no_tensor) {
      continue;
    }
    const Shape* const input = shape_of(survey, node.inputs, i);
    const auto own = input != nullptr ? stretched_axis(*input, *output, axis) : std::nullopt;
    if (!own) {
      return {};
    }
    choice.inputs[i] = *own;
  }
  return {choice};
}

bool begins_cut(const OnnxSurvey& survey, NodeNumber number, AxesChoice& choice) {
  const Node& node = survey.node(number);
  if (is_weight_product(survey, number)) {
    choice = cut_by_columns(survey, node);
    return cut_epilogue(survey, node, choice);
  }
  const auto* const attention = std::get_if<onnx::Attention>(&survey.work(number));
  if (attention == nullptr || attention->projection_flops == 0) {
    return false;
  }
  const CutChoices choices = cut_attention(survey, node, *attention);
  if (choices.empty()) {
    return false;
  }
  choice = choices.front();
  return cut_epilogue(survey, node, choice);
}

std::vector<AxesChoice> cut_choices(const OnnxSurvey& survey, NodeNumber number,
                                    const CutPlace& place) {
  return fitting(survey, survey.node(number), choices_of(survey, number, place), place);
}

}  // namespace tessera::sim
