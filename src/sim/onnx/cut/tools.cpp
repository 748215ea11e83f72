#include "onnx/cut/tools.hpp"

#include <variant>

namespace tessera::sim {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

const Shape* shape_of(const OnnxSurvey& survey, const std::vector<TensorIndex>& list,
                      std::size_t at) {
  if (at >= list.size() || list[at] == onnx::no_tensor || !survey.tensor(list[at]).shape) {
    return nullptr;
  }
  return &*survey.tensor(list[at]).shape;
}

AxesChoice all_whole(const Node& node, Sharding sharding) {
  return {sharding, std::vector<int>(node.inputs.size(), whole),
          std::vector<int>(node.outputs.size(), whole)};
}

std::int64_t attribute(const Node& node, const char* name, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && std::holds_alternative<std::int64_t>(found->second)
             ? std::get<std::int64_t>(found->second)
             : otherwise;
}

int axis_from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::optional<int> stretched_axis(const Shape& operand, const Shape& output, int axis) {
  const int own = axis - static_cast<int>(output.size()) + static_cast<int>(operand.size());
  if (own < 0 || operand[static_cast<std::size_t>(own)] == 1) {
    return whole;
  }
  const bool fits =
      operand[static_cast<std::size_t>(own)] == output[static_cast<std::size_t>(axis)];
  return fits ? std::optional(own) : std::nullopt;
}

}  // namespace tessera::sim
