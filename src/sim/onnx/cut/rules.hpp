// How one node of a model may be cut: the axes of its inputs and outputs that go together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onnx/survey.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

inline constexpr int whole = -1;  // in place of an axis

struct AxesChoice {
  workload::Sharding sharding = workload::Sharding::heads;
  std::vector<int> inputs;   // axis of each, or whole
  std::vector<int> outputs;  // likewise
};

// Where the cut comes to the node.
struct CutPlace {
  bool of_input = true;
  std::size_t at = 0;
  int axis = whole;
};

// The ways to go on, the likeliest first; empty where the node needs the tensor whole.
std::vector<AxesChoice> cut_choices(const OnnxSurvey& survey, NodeNumber number,
                                    const CutPlace& place);

// A product of activations by weights of two sides.
bool is_weight_product(const OnnxSurvey& survey, NodeNumber number);
// Columns cut; attention that projects its input itself counts.
bool begins_cut(const OnnxSurvey& survey, NodeNumber number, AxesChoice& choice);

// Axes of `to` that an axis of `from` may become under another shape of as many elements.
std::vector<int> axes_after_reshape(const onnx::Shape& from, const onnx::Shape& to, int axis);

}  // namespace tessera::sim
