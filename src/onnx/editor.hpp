// Changes to a graph, with who makes and who reads each tensor kept up to date.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

using NodeIndex = std::size_t;

class Editor {
 public:
  explicit Editor(Graph& graph);

  std::size_t size() const { return graph_.nodes.size(); }
  bool alive(NodeIndex at) const { return alive_[at]; }
  const Node& node(NodeIndex at) const { return graph_.nodes[at]; }
  const Tensor& tensor(TensorIndex at) const { return graph_.tensors[at]; }
  const Graph& graph() const { return graph_; }

  // Is alive and of this kind of the standard set, understood, nothing fused to it nor widened by
  // it, with an output.
  bool is(NodeIndex at, const char* op) const;
  // Who makes a tensor; none for inputs and constants.
  std::optional<NodeIndex> maker(TensorIndex at) const;
  // Who makes it, if that is a standard operator of this kind.
  std::optional<NodeIndex> maker(TensorIndex at, const char* op) const;
  // The one node that reads it; none when there are more, or when it is an output of the graph.
  std::optional<NodeIndex> only_reader(TensorIndex at) const;
  const std::set<NodeIndex>& readers(TensorIndex at) const { return readers_[at]; }
  bool is_output(TensorIndex at) const { return output_[at]; }
  bool is_constant(TensorIndex at) const {
    return at != no_tensor && graph_.tensors[at].role == Role::parameter;
  }
  // The value of a constant with one element.
  std::optional<double> scalar(TensorIndex at) const;
  bool same_shape(TensorIndex a, TensorIndex b) const;

  void remove(NodeIndex at);
  // In place of what stands there; its outputs may be those of removed nodes.
  void put(NodeIndex at, Node node);
  // The same where a node was removed.
  void revive(NodeIndex at, Node node);
  // All who read `from` read `to`; an output of the graph keeps its name.
  void replace(TensorIndex from, TensorIndex to);
  void make_constant(TensorIndex at) { graph_.tensors[at].role = Role::parameter; }
  TensorIndex add_constant(const std::string& name, ElementType type, const Shape& shape);
  TensorIndex add_activation(const std::string& name, ElementType type, const Shape& shape);

  // Takes the removed nodes out. The editor is of no more use then.
  void finish();

 private:
  void enter(NodeIndex at);
  void leave(NodeIndex at);

  Graph& graph_;
  std::vector<bool> alive_;
  std::vector<std::optional<NodeIndex>> makers_;
  std::vector<std::set<NodeIndex>> readers_;
  std::vector<bool> output_;
};

// Input of a binary operator that is not `one`; none when both or neither are.
std::optional<TensorIndex> other_input(const Node& node, TensorIndex one);

}  // namespace tessera::onnx
