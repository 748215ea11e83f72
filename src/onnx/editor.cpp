#include "editor.hpp"

#include <algorithm>
#include <utility>

namespace tessera::onnx {

Editor::Editor(Graph& graph)
    : graph_(graph),
      alive_(graph.nodes.size(), true),
      makers_(graph.tensors.size()),
      readers_(graph.tensors.size()),
      output_(graph.tensors.size()) {
  for (NodeIndex at = 0; at < graph.nodes.size(); ++at) {
    enter(at);
  }
  for (const TensorIndex at : graph.outputs) {
    output_[at] = true;
  }
}

void Editor::enter(NodeIndex at) {
  for (const TensorIndex tensor : graph_.nodes[at].inputs) {
    if (tensor != no_tensor) {
      readers_[tensor].insert(at);
    }
  }
  for (const TensorIndex tensor : graph_.nodes[at].outputs) {
    if (tensor != no_tensor) {
      makers_[tensor] = at;
    }
  }
}

void Editor::leave(NodeIndex at) {
  for (const TensorIndex tensor : graph_.nodes[at].inputs) {
    if (tensor != no_tensor) {
      readers_[tensor].erase(at);
    }
  }
  for (const TensorIndex tensor : graph_.nodes[at].outputs) {
    if (tensor != no_tensor && makers_[tensor] == at) {
      makers_[tensor].reset();
    }
  }
}

bool Editor::is(NodeIndex at, const char* op) const {
  const Node& node = graph_.nodes[at];
  return alive_[at] && node.domain.empty() && node.op == op && node.epilogue.empty() &&
         node.widened_by.empty() && node.unknown.empty() && !node.outputs.empty() &&
         node.outputs[0] != no_tensor;
}

std::optional<NodeIndex> Editor::maker(TensorIndex at) const {
  return at == no_tensor ? std::nullopt : makers_[at];
}

std::optional<NodeIndex> Editor::maker(TensorIndex at, const char* op) const {
  const auto found = maker(at);
  return found && is(*found, op) ? found : std::nullopt;
}

std::optional<NodeIndex> Editor::only_reader(TensorIndex at) const {
  if (at == no_tensor || output_[at] || readers_[at].size() != 1) {
    return std::nullopt;
  }
  return *readers_[at].begin();
}

std::optional<double> Editor::scalar(TensorIndex at) const {
  if (!is_constant(at) || !graph_.tensors[at].values || graph_.tensors[at].values->size() != 1) {
    return std::nullopt;
  }
  return graph_.tensors[at].values->as_real(0);
}

bool Editor::same_shape(TensorIndex a, TensorIndex b) const {
  return a != no_tensor && b != no_tensor && graph_.tensors[a].shape &&
         graph_.tensors[a].shape == graph_.tensors[b].shape;
}

void Editor::remove(NodeIndex at) {
  leave(at);
  alive_[at] = false;
}

void Editor::put(NodeIndex at, Node node) {
  leave(at);
  graph_.nodes[at] = std::move(node);
  enter(at);
}

void Editor::replace(TensorIndex from, TensorIndex to) {
  const std::set<NodeIndex> readers = readers_[from];
  for (const NodeIndex reader : readers) {
    Node node = graph_.nodes[reader];
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    for (Epilogue& step : node.epilogue) {
      std::replace(step.operands.begin(), step.operands.end(), from, to);
    }
    std::replace(node.widened_by.begin(), node.widened_by.end(), from, to);
    put(reader, std::move(node));
  }
  if (output_[from]) {
    std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
    output_[from] = false;
    output_[to] = true;
    if (graph_.tensors[to].role == Role::activation) {
      graph_.tensors[to].name = graph_.tensors[from].name;
    }
  }
}

void Editor::revive(NodeIndex at, Node node) {
  graph_.nodes[at] = std::move(node);
  alive_[at] = true;
  enter(at);
}

TensorIndex Editor::add_activation(const std::string& name, ElementType type, const Shape& shape) {
  const TensorIndex at = add_constant(name, type, shape);
  graph_.tensors[at].role = Role::activation;
  return at;
}

TensorIndex Editor::add_constant(const std::string& name, ElementType type, const Shape& shape) {
  Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = shape;
  tensor.role = Role::parameter;
  graph_.tensors.push_back(std::move(tensor));
  makers_.emplace_back();
  readers_.emplace_back();
  output_.push_back(false);
  return static_cast<TensorIndex>(graph_.tensors.size() - 1);
}

void Editor::finish() {
  std::vector<Node> kept;
  for (NodeIndex at = 0; at < graph_.nodes.size(); ++at) {
    if (alive_[at]) {
      kept.push_back(std::move(graph_.nodes[at]));
    }
  }
  graph_.nodes = std::move(kept);
}

std::optional<TensorIndex> other_input(const Node& node, TensorIndex one) {
  if (node.inputs.size() != 2 || (node.inputs[0] == one) == (node.inputs[1] == one)) {
    return std::nullopt;
  }
  return node.inputs[0] == one ? node.inputs[1] : node.inputs[0];
}

}  // namespace tessera::onnx
