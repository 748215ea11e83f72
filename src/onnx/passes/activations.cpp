// Activation functions that exporters write as single operators.
#include <algorithm>
#include <cmath>
#include <functional>

#include "operands.hpp"
#include "passes/passes.hpp"
#include "passes/pattern.hpp"

namespace tessera::onnx {
namespace {

constexpr double inverse_root_of_two = 0.70710678118654752;

// Looks at each node that ends a product; `match` gives what takes its place.
using Matcher = std::optional<Node> (*)(Editor& editor, NodeIndex root, const Factors& factors,
                                        Pattern& pattern);

std::uint64_t rewrite_products(Editor& editor, Matcher match) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.is(at, "Mul") && !editor.is(at, "Div")) {
      continue;
    }
    Pattern pattern(editor);
    const Factors factors = factors_of(editor, editor.node(at).outputs[0]);
    for (const NodeIndex node : factors.nodes) {
      pattern.add(node);
    }
    pattern.add(at);
    const auto node = match(editor, at, factors, pattern);
    if (node && editor.same_shape(node->inputs[0], node->outputs[0]) && pattern.closed(at)) {
      pattern.become(at, *node);
      ++changes;
    }
  }
  return changes;
}

// Of two parts, the one made by `op`, and the other.
struct Pair {
  NodeIndex made;
  TensorIndex other;
};
std::optional<Pair> split_pair(const Editor& editor, const Factors& factors, const char* op) {
  if (factors.parts.size() != 2) {
    return std::nullopt;
  }
  for (const std::size_t at : {0U, 1U}) {
    if (const auto found = editor.maker(factors.parts[at], op)) {
      return Pair{*found, factors.parts[1 - at]};
    }
  }
  return std::nullopt;
}

// x/2 (1 + erf(x / sqrt 2))
std::optional<Node> match_gelu(Editor& editor, NodeIndex root, const Factors& factors,
                               Pattern& pattern) {
  const auto pair = split_pair(editor, factors, "Add");
  const auto inner =
      pair ? beside_scalar(editor, editor.node(pair->made), 1) : std::optional<TensorIndex>();
  const auto erf = inner ? editor.maker(*inner, "Erf") : std::nullopt;
  if (!erf || !is_near(factors.scale, 0.5)) {
    return std::nullopt;
  }
  const Factors argument = factors_of(editor, editor.node(*erf).inputs[0]);
  if (argument.parts != std::vector<TensorIndex>{pair->other} ||
      !is_near(argument.scale, inverse_root_of_two)) {
    return std::nullopt;
  }
  pattern.add(pair->made);
  pattern.add(*erf);
  for (const NodeIndex node : argument.nodes) {
    pattern.add(node);
  }
  return replacement(editor.node(root), "com.microsoft", "Gelu", {pair->other});
}

// A polynomial of x: sums, products and powers of x and constants.
bool is_polynomial(const Editor& editor, TensorIndex tensor, TensorIndex x, int depth,
                   Pattern& pattern) {
  if (tensor == x || editor.scalar(tensor)) {
    return true;
  }
  for (const char* op : {"Mul", "Add", "Pow", "Div"}) {
    const auto found = editor.maker(tensor, op);
    if (found && depth < 8) {
      pattern.add(*found);
      const auto& inputs = editor.node(*found).inputs;
      return std::all_of(inputs.begin(), inputs.end(), [&](TensorIndex input) {
        return is_polynomial(editor, input, x, depth + 1, pattern);
      });
    }
  }
  return false;
}

// x/2 (1 + tanh(k x (1 + c x^2)))
std::optional<Node> match_tanh_gelu(Editor& editor, NodeIndex root, const Factors& factors,
                                    Pattern& pattern) {
  const auto pair = split_pair(editor, factors, "Add");
  const auto inner =
      pair ? beside_scalar(editor, editor.node(pair->made), 1) : std::optional<TensorIndex>();
  const auto tanh = inner ? editor.maker(*inner, "Tanh") : std::nullopt;
  if (!tanh || !is_near(factors.scale, 0.5) ||
      !is_polynomial(editor, editor.node(*tanh).inputs[0], pair->other, 0, pattern)) {
    return std::nullopt;
  }
  pattern.add(pair->made);
  pattern.add(*tanh);
  return replacement(editor.node(root), "com.microsoft", "FastGelu", {pair->other});
}

// x / (1 + exp(-x))
std::optional<Node> match_silu(Editor& editor, NodeIndex root, const Factors& factors,
                               Pattern& pattern) {
  const auto pair = split_pair(editor, factors, "Sigmoid");
  if (!pair || !is_near(factors.scale, 1) || editor.node(pair->made).inputs[0] != pair->other) {
    return std::nullopt;
  }
  pattern.add(pair->made);
  return replacement(editor.node(root), "com.microsoft", "QuickGelu", {pair->other});
}

// Bounds are attributes until opset 10, then inputs.
bool clips(const Editor& editor, NodeIndex at, double low, double high) {
  const Node& node = editor.node(at);
  const auto bound = [&](const char* name, std::size_t input) -> std::optional<double> {
    const auto found = node.attributes.find(name);
    if (found != node.attributes.end() && std::holds_alternative<double>(found->second)) {
      return std::get<double>(found->second);
    }
    return input < node.inputs.size() ? editor.scalar(node.inputs[input]) : std::nullopt;
  };
  const auto least = bound("min", 1);
  const auto most = bound("max", 2);
  return least && most && *least == low && is_near(*most, high);
}

// The x of Clip(x + 3, 0, 6).
std::optional<TensorIndex> clipped_by_six(const Editor& editor, NodeIndex clip, Pattern& pattern) {
  const auto sum = editor.maker(editor.node(clip).inputs[0], "Add");
  const auto x = sum ? beside_scalar(editor, editor.node(*sum), 3) : std::nullopt;
  if (!x || !clips(editor, clip, 0, 6)) {
    return std::nullopt;
  }
  pattern.add(clip);
  pattern.add(*sum);
  return x;
}

// Clip(x + 3, 0, 6) / 6
std::optional<Node> match_hard_sigmoid(Editor& editor, NodeIndex root, const Factors& factors,
                                       Pattern& pattern) {
  const auto clip =
      factors.parts.size() == 1 ? editor.maker(factors.parts[0], "Clip") : std::nullopt;
  const auto x = clip && is_near(factors.scale, 1.0 / 6) ? clipped_by_six(editor, *clip, pattern)
                                                         : std::nullopt;
  if (!x) {
    return std::nullopt;
  }
  Node node = replacement(editor.node(root), "", "HardSigmoid", {*x});
  node.attributes["alpha"] = 1.0 / 6;
  node.attributes["beta"] = 0.5;
  return node;
}

double real_attribute(const Node& node, const char* name, double otherwise) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && std::holds_alternative<double>(found->second)
             ? std::get<double>(found->second)
             : otherwise;
}

// x Clip(x + 3, 0, 6) / 6, or x times the hard sigmoid with these constants
std::optional<Node> match_hard_swish(Editor& editor, NodeIndex root, const Factors& factors,
                                     Pattern& pattern) {
  if (const auto pair = split_pair(editor, factors, "Clip");
      pair && is_near(factors.scale, 1.0 / 6)) {
    const auto x = clipped_by_six(editor, pair->made, pattern);
    return x == pair->other ? std::optional(replacement(editor.node(root), "", "HardSwish", {*x}))
                            : std::nullopt;
  }
  const auto pair = split_pair(editor, factors, "HardSigmoid");
  if (!pair || !is_near(factors.scale, 1)) {
    return std::nullopt;
  }
  const Node& sigmoid = editor.node(pair->made);
  if (sigmoid.inputs[0] != pair->other ||
      !is_near(real_attribute(sigmoid, "alpha", 0.2), 1.0 / 6) ||
      !is_near(real_attribute(sigmoid, "beta", 0.5), 0.5)) {
    return std::nullopt;
  }
  pattern.add(pair->made);
  return replacement(editor.node(root), "", "HardSwish", {pair->other});
}

}  // namespace

std::uint64_t recognise_gelu(Editor& editor) {
  return rewrite_products(editor, match_gelu);
}
std::uint64_t recognise_tanh_gelu(Editor& editor) {
  return rewrite_products(editor, match_tanh_gelu);
}
std::uint64_t recognise_silu(Editor& editor) {
  return rewrite_products(editor, match_silu);
}
std::uint64_t recognise_hard_sigmoid(Editor& editor) {
  return rewrite_products(editor, match_hard_sigmoid);
}
std::uint64_t recognise_hard_swish(Editor& editor) {
  return rewrite_products(editor, match_hard_swish);
}

}  // namespace tessera::onnx
