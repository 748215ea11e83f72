#include "passes/pattern.hpp"

#include <cmath>
#include <utility>

namespace tessera::onnx {
namespace {

constexpr int deepest_product = 4;

void take_apart(const Editor& editor, TensorIndex tensor, int depth, Factors& factors) {
  if (const auto scalar = editor.scalar(tensor)) {
    factors.scale *= *scalar;
    return;
  }
  const auto product = editor.maker(tensor, "Mul");
  const auto quotient = editor.maker(tensor, "Div");
  const bool inner = depth == 0 || editor.only_reader(tensor).has_value();
  if (product && inner && depth < deepest_product) {
    factors.nodes.push_back(*product);
    for (const TensorIndex input : editor.node(*product).inputs) {
      take_apart(editor, input, depth + 1, factors);
    }
    return;
  }
  const auto divisor = quotient ? editor.scalar(editor.node(*quotient).inputs[1]) : std::nullopt;
  if (divisor && *divisor != 0 && inner && depth < deepest_product) {
    factors.nodes.push_back(*quotient);
    factors.scale /= *divisor;
    take_apart(editor, editor.node(*quotient).inputs[0], depth + 1, factors);
    return;
  }
  factors.parts.push_back(tensor);
}

}  // namespace

bool Pattern::closed(NodeIndex root) const {
  for (const NodeIndex at : nodes_) {
    if (at == root) {
      continue;
    }
    for (const TensorIndex output : editor_.node(at).outputs) {
      if (output == no_tensor) {
        continue;
      }
      if (editor_.is_output(output)) {
        return false;
      }
      for (const NodeIndex reader : editor_.readers(output)) {
        if (!nodes_.contains(reader)) {
          return false;
        }
      }
    }
  }
  return true;
}

void Pattern::become(NodeIndex root, Node node) {
  for (const NodeIndex at : nodes_) {
    if (at != root) {
      editor_.remove(at);
    }
  }
  editor_.put(root, std::move(node));
}

Factors factors_of(const Editor& editor, TensorIndex tensor) {
  Factors factors;
  take_apart(editor, tensor, 0, factors);
  return factors;
}

bool is_near(double value, double expected) {
  return std::abs(value - expected) <= 1e-3 * std::abs(expected);
}

std::optional<TensorIndex> beside_scalar(const Editor& editor, const Node& node, double value) {
  if (node.inputs.size() != 2) {
    return std::nullopt;
  }
  for (const std::size_t at : {0U, 1U}) {
    const auto scalar = editor.scalar(node.inputs[at]);
    if (scalar && is_near(*scalar, value)) {
      return node.inputs[1 - at];
    }
  }
  return std::nullopt;
}

Node replacement(const Node& root, const std::string& domain, const std::string& op,
                 std::vector<TensorIndex> inputs) {
  Node node;
  node.name = root.name;
  node.domain = domain;
  node.op = op;
  node.version = domain.empty() ? 18 : 1;
  node.inputs = std::move(inputs);
  node.outputs = {root.outputs[0]};
  node.offset = root.offset;
  return node;
}

}  // namespace tessera::onnx
