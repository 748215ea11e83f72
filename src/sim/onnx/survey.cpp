#include "onnx/survey.hpp"

#include <algorithm>
#include <variant>

#include "onnx/quantized.hpp"

namespace tessera::sim {

using onnx::Node;
using onnx::TensorIndex;

OnnxSurvey::OnnxSurvey(const onnx::Graph& graph)
    : graph_(graph),
      makers_(graph.tensors.size(), no_node),
      readers_(graph.tensors.size()),
      outputs_(graph.tensors.size()),
      constant_(graph.tensors.size()) {
  for (TensorIndex at = 0; at < graph.tensors.size(); ++at) {
    constant_[at] = graph.tensors[at].role == onnx::Role::parameter;
  }
  for (const TensorIndex at : graph.outputs) {
    outputs_[at] = true;
  }
  for (NodeNumber number = 0; number < nodes(); ++number) {
    const Node& node = graph.nodes[number];
    works_.push_back(onnx::work_of(graph, node));
    bool constant = !node.inputs.empty();
    for (const TensorIndex at : node.inputs) {
      if (at == onnx::no_tensor) {
        continue;
      }
      constant = constant && constant_[at];
      if (readers_[at].empty() || readers_[at].back() != number) {
        readers_[at].push_back(number);
      }
    }
    for (const TensorIndex at : node.outputs) {
      if (at != onnx::no_tensor) {
        makers_[at] = number;
        constant_[at] = constant;
      }
    }
  }
}

bool OnnxSurvey::is_view(NodeNumber number) const {
  return std::holds_alternative<onnx::View>(works_[number]);
}

bool OnnxSurvey::is_matrix_work(NodeNumber number) const {
  const onnx::Work& work = works_[number];
  return std::holds_alternative<onnx::Product>(work) ||
         std::holds_alternative<onnx::Convolution>(work) ||
         std::holds_alternative<onnx::Attention>(work) ||
         std::holds_alternative<onnx::Recurrent>(work);
}

bool OnnxSurvey::gives_sides(NodeNumber number) const {
  return node(number).op == "Shape" || node(number).op == "Size";
}

TensorIndex OnnxSurvey::parameter_of(TensorIndex tensor) const {
  while (constant_[tensor] && makers_[tensor] != no_node) {
    const NodeNumber number = makers_[tensor];
    const std::string& op = node(number).op;
    const bool same = (is_view(number) && !gives_sides(number)) || op == "Transpose" ||
                      op == "Cast" || op == "CastLike";
    const TensorIndex from = node(number).inputs[0];
    if (!same || from == onnx::no_tensor ||
        graph_.tensors[from].elements() != graph_.tensors[tensor].elements()) {
      return onnx::no_tensor;
    }
    tensor = from;
  }
  return constant_[tensor] ? tensor : onnx::no_tensor;
}

TensorIndex OnnxSurvey::viewed(TensorIndex tensor) const {
  while (makers_[tensor] != no_node && is_view(makers_[tensor]) && !gives_sides(makers_[tensor]) &&
         node(makers_[tensor]).inputs[0] != onnx::no_tensor) {
    tensor = node(makers_[tensor]).inputs[0];
  }
  return tensor;
}

bool reads_weights(const OnnxSurvey& survey, const Node& node) {
  if (find_quantized(node) != nullptr) {
    const std::size_t place = weights_place(node);
    return place < node.inputs.size() && node.inputs[place] != onnx::no_tensor &&
           survey.is_constant(node.inputs[place]);
  }
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorIndex at) {
    return at != onnx::no_tensor && survey.is_constant(at) && !is_epilogue_operand(node, at) &&
           std::count(node.widened_by.begin(), node.widened_by.end(), at) == 0;
  });
}

bool is_epilogue_operand(const Node& node, TensorIndex tensor) {
  return std::any_of(node.epilogue.begin(), node.epilogue.end(), [&](const onnx::Epilogue& step) {
    return std::count(step.operands.begin(), step.operands.end(), tensor) > 0;
  });
}

}  // namespace tessera::sim
