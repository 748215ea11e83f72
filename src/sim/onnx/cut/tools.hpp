// What the rules of rules.hpp share, and those of one family each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "onnx/cut/rules.hpp"

namespace tessera::sim {

using CutChoices = std::vector<AxesChoice>;

// Null where there is no such tensor.
const onnx::Shape* shape_of(const OnnxSurvey& survey, const std::vector<onnx::TensorIndex>& list,
                            std::size_t at);
AxesChoice all_whole(const onnx::Node& node, workload::Sharding sharding);
std::int64_t attribute(const onnx::Node& node, const char* name, std::int64_t otherwise);
int axis_from_front(std::int64_t axis, std::size_t rank);
// Axis of an operand that is stretched to the output's sides; none: they do not fit.
std::optional<int> stretched_axis(const onnx::Shape& operand, const onnx::Shape& output, int axis);

AxesChoice cut_by_columns(const OnnxSurvey& survey, const onnx::Node& node);
CutChoices cut_products(const OnnxSurvey& survey, NodeNumber number, const onnx::Node& node);
CutChoices cut_attention(const OnnxSurvey& survey, const onnx::Node& node,
                         const onnx::Attention& work);
// Each element of the output from those at its place.
CutChoices cut_element_wise(const OnnxSurvey& survey, const onnx::Node& node,
                            const CutPlace& place);
CutChoices cut_view(const OnnxSurvey& survey, NodeNumber number, const onnx::Node& node,
                    const CutPlace& place);
// Parts along an axis, of tensors of one rank: columns of a part go to the members as the whole's.
CutChoices cut_parts(const onnx::Node& node, const CutPlace& place, std::size_t inputs,
                     std::size_t outputs);
CutChoices cut_movement(const OnnxSurvey& survey, const onnx::Node& node, const CutPlace& place);

}  // namespace tessera::sim
