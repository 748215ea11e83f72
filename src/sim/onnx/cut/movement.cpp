#include "onnx/cut/tools.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

std::vector<int> permutation(const Node& node, std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  const auto found = node.attributes.find("perm");
  if (found != node.attributes.end()) {
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&found->second);
    if (list != nullptr && list->size() == rank) {
      std::transform(list->begin(), list->end(), order.begin(),
                     [](std::int64_t axis) { return static_cast<int>(axis); });
    }
  }
  return order;
}

CutChoices transposed(const OnnxSurvey& survey, const Node& node, const CutPlace& place) {
  const Shape* const input = shape_of(survey, node.inputs, 0);
  if (input == nullptr || place.at != 0) {
    return {};
  }
  const std::vector<int> order = permutation(node, input->size());
  AxesChoice choice = all_whole(node, Sharding::heads);
  const auto found = std::find(order.begin(), order.end(), place.axis);
  choice.inputs[0] = place.of_input ? place.axis : order[static_cast<std::size_t>(place.axis)];
  choice.outputs[0] = place.of_input ? static_cast<int>(found - order.begin()) : place.axis;
  return {choice};
}

// By a number: the axis falls away, others keep their order.
CutChoices gathered(const OnnxSurvey& survey, const Node& node, const CutPlace& place) {
  const Shape* const table = shape_of(survey, node.inputs, 0);
  const Shape* const index = shape_of(survey, node.inputs, 1);
  if (table == nullptr || index == nullptr || place.at != 0) {
    return {};
  }
  const int axis = axis_from_front(attribute(node, "axis", 0), table->size());
  const int more = static_cast<int>(index->size()) - 1;
  AxesChoice choice = all_whole(node, Sharding::heads);
  if (place.of_input) {
    if (place.axis == axis) {
      return {};
    }
    choice.inputs[0] = place.axis;
    choice.outputs[0] = place.axis < axis ? place.axis : place.axis + more;
  } else {
    if (place.axis >= axis && place.axis <= axis + more) {
      return {};
    }
    choice.outputs[0] = place.axis;
    choice.inputs[0] = place.axis < axis ? place.axis : place.axis - more;
  }
  return {choice};
}

// Sides that are not one, with their axes.
std::vector<std::pair<int, std::int64_t>> real_sides(const Shape& shape) {
  std::vector<std::pair<int, std::int64_t>> sides;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) {
      sides.emplace_back(static_cast<int>(i), shape[i]);
    }
  }
  return sides;
}

}  // namespace

std::vector<int> axes_after_reshape(const Shape& from, const Shape& to, int axis) {
  const auto before = real_sides(from);
  const auto after = real_sides(to);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() && j < after.size()) {
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    std::int64_t product_i = before[i++].second;
    std::int64_t product_j = after[j++].second;
    while (product_i != product_j) {
      const bool before_is_less = product_i < product_j;
      if (before_is_less ? i == before.size() : j == after.size()) {
        return {};
      }
      if (before_is_less) {
        product_i *= before[i++].second;
      } else {
        product_j *= after[j++].second;
      }
    }
    for (std::size_t at = first_i; at < i; ++at) {
      if (before[at].first == axis) {
        std::vector<int> axes;
        for (std::size_t other = first_j; other < j; ++other) {
          axes.push_back(after[other].first);
        }
        return axes;
      }
    }
  }
  return {};
}

CutChoices cut_view(const OnnxSurvey& survey, NodeNumber number, const Node& node,
                    const CutPlace& place) {
  if (survey.gives_sides(number)) {  // the tensor's elements are not read
    AxesChoice choice = all_whole(node, Sharding::replicated);
    choice.inputs[0] = place.axis;
    return place.of_input ? CutChoices{choice} : CutChoices{};
  }
  const Shape* const input = shape_of(survey, node.inputs, 0);
  const Shape* const output = shape_of(survey, node.outputs, 0);
  CutChoices choices;
  if (input == nullptr || output == nullptr || place.at != 0) {
    return choices;
  }
  for (const int axis : place.of_input ? axes_after_reshape(*input, *output, place.axis)
                                       : axes_after_reshape(*output, *input, place.axis)) {
    AxesChoice choice = all_whole(node, Sharding::heads);
    choice.inputs[0] = place.of_input ? place.axis : axis;
    choice.outputs[0] = place.of_input ? axis : place.axis;
    choices.push_back(std::move(choice));
  }
  return choices;
}

CutChoices cut_parts(const Node& node, const CutPlace& place, std::size_t inputs,
                     std::size_t outputs) {
  if (place.of_input && place.at >= inputs) {
    return {};
  }
  AxesChoice choice = all_whole(node, Sharding::heads);
  std::fill_n(choice.inputs.begin(), inputs, place.axis);
  std::fill_n(choice.outputs.begin(), outputs, place.axis);
  return {choice};
}

CutChoices cut_movement(const OnnxSurvey& survey, const Node& node, const CutPlace& place) {
  if (node.op == "Transpose") {
    return transposed(survey, node, place);
  }
  if (node.op == "Concat") {
    return cut_parts(node, place, node.inputs.size(), 1);
  }
  if (node.op == "Split") {
    return cut_parts(node, place, 1, node.outputs.size());
  }
  if (node.op == "Slice") {
    return cut_parts(node, place, 1, 1);
  }
  if (node.op == "Gather") {
    return gathered(survey, node, place);
  }
  if (node.op != "Expand") {
    return {};
  }
  // Not along the axis that is stretched.
  CutChoices choices = cut_element_wise(survey, node, place);
  std::erase_if(choices, [](const AxesChoice& choice) { return choice.inputs[0] == whole; });
  for (AxesChoice& choice : choices) {
    std::fill(choice.inputs.begin() + 1, choice.inputs.end(), whole);
  }
  return choices;
}

}  // namespace tessera::sim
