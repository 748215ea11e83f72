// The graph of a model with what the passes to layers ask of it: who makes and reads a tensor, and
// what is known before the model runs.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tessera/onnx/graph.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::sim {

using NodeNumber = std::uint32_t;
inline constexpr NodeNumber no_node = std::numeric_limits<NodeNumber>::max();

class OnnxSurvey {
 public:
  // Refers to the graph.
  explicit OnnxSurvey(const onnx::Graph& graph);

  const onnx::Graph& graph() const { return graph_; }
  NodeNumber nodes() const { return static_cast<NodeNumber>(graph_.nodes.size()); }
  const onnx::Node& node(NodeNumber number) const { return graph_.nodes[number]; }
  const onnx::Tensor& tensor(onnx::TensorIndex at) const { return graph_.tensors[at]; }
  const onnx::Work& work(NodeNumber number) const { return works_[number]; }
  bool is_view(NodeNumber number) const;
  // Products, convolutions, attention and recurrent cells.
  bool is_matrix_work(NodeNumber number) const;

  NodeNumber maker(onnx::TensorIndex tensor) const { return makers_[tensor]; }
  // Each node once, in order.
  const std::vector<NodeNumber>& readers(onnx::TensorIndex tensor) const {
    return readers_[tensor];
  }
  bool is_output(onnx::TensorIndex tensor) const { return outputs_[tensor]; }
  // Follows from parameters alone.
  bool is_constant(onnx::TensorIndex tensor) const { return constant_[tensor]; }
  // A constant, or a number that follows from shapes: there is nothing to pass on.
  bool is_known(onnx::TensorIndex tensor) const {
    return constant_[tensor] || graph_.tensors[tensor].values.has_value();
  }
  // The parameter whose elements a constant is, under another shape or order; else no_tensor.
  onnx::TensorIndex parameter_of(onnx::TensorIndex tensor) const;
  // The tensor that it is a view of, or itself.
  onnx::TensorIndex viewed(onnx::TensorIndex tensor) const;
  // Gives the sides of a tensor, not its elements.
  bool gives_sides(NodeNumber number) const;

 private:
  const onnx::Graph& graph_;
  std::vector<onnx::Work> works_;
  std::vector<NodeNumber> makers_;
  std::vector<std::vector<NodeNumber>> readers_;
  std::vector<bool> outputs_;
  std::vector<bool> constant_;
};

// Whether the right operand of a product is a constant; of one that is not quantised, whether any
// is.
bool reads_weights(const OnnxSurvey& survey, const onnx::Node& node);

// Read by a fused step alone.
bool is_epilogue_operand(const onnx::Node& node, onnx::TensorIndex tensor);

}  // namespace tessera::sim
