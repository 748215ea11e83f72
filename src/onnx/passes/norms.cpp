// Norms that exporters write as single operators, and the sums before them.
#include <algorithm>

#include "passes/passes.hpp"
#include "passes/pattern.hpp"

namespace tessera::onnx {
namespace {

// The mean over the last side, kept as a side of one; its input.
std::optional<TensorIndex> mean_of_rows(const Editor& editor, TensorIndex tensor,
                                        Pattern& pattern) {
  const auto mean = editor.maker(tensor, "ReduceMean");
  if (!mean) {
    return std::nullopt;
  }
  const TensorIndex input = editor.node(*mean).inputs[0];
  const auto& from = editor.tensor(input).shape;
  const auto& to = editor.tensor(tensor).shape;
  if (!from || !to || from->empty() || to->size() != from->size() || to->back() != 1 ||
      !std::equal(from->begin(), from->end() - 1, to->begin())) {
    return std::nullopt;
  }
  pattern.add(*mean);
  return input;
}

// x of x^2 or x * x.
std::optional<TensorIndex> square_root_of(const Editor& editor, TensorIndex tensor,
                                          Pattern& pattern) {
  if (const auto power = editor.maker(tensor, "Pow")) {
    const auto exponent = editor.scalar(editor.node(*power).inputs[1]);
    if (exponent && *exponent == 2) {
      pattern.add(*power);
      return editor.node(*power).inputs[0];
    }
  }
  const auto product = editor.maker(tensor, "Mul");
  if (product && editor.node(*product).inputs[0] == editor.node(*product).inputs[1]) {
    pattern.add(*product);
    return editor.node(*product).inputs[0];
  }
  return std::nullopt;
}

// The d of sqrt(mean(d^2) + e).
std::optional<TensorIndex> root_of_mean_square(const Editor& editor, TensorIndex tensor,
                                               Pattern& pattern) {
  const auto root = editor.maker(tensor, "Sqrt");
  const auto sum =
      root ? editor.maker(editor.node(*root).inputs[0], "Add") : std::optional<NodeIndex>();
  if (!sum) {
    return std::nullopt;
  }
  for (const std::size_t at : {0U, 1U}) {
    const TensorIndex mean = editor.node(*sum).inputs[at];
    if (!editor.scalar(editor.node(*sum).inputs[1 - at])) {
      continue;
    }
    const auto square = mean_of_rows(editor, mean, pattern);
    const auto d = square ? square_root_of(editor, *square, pattern) : std::nullopt;
    if (d) {
      pattern.add(*root);
      pattern.add(*sum);
      return d;
    }
  }
  return std::nullopt;
}

struct Quotient {
  TensorIndex above;
  TensorIndex root;                  // what it is divided by
  std::optional<NodeIndex> inverse;  // of the root, where it is multiplied by that
};

// a / r, a * (1 / r), a * reciprocal(r): both orders.
std::vector<Quotient> quotients_of(const Editor& editor, NodeIndex at) {
  const Node& node = editor.node(at);
  if (editor.is(at, "Div")) {
    return {{node.inputs[0], node.inputs[1], std::nullopt}};
  }
  std::vector<Quotient> found;
  for (const std::size_t side : {0U, 1U}) {
    const TensorIndex above = node.inputs[1 - side];
    const TensorIndex inverse = node.inputs[side];
    if (const auto reciprocal = editor.maker(inverse, "Reciprocal")) {
      found.push_back({above, editor.node(*reciprocal).inputs[0], reciprocal});
    } else if (const auto division = editor.maker(inverse, "Div")) {
      if (editor.scalar(editor.node(*division).inputs[0]) == 1.0) {
        found.push_back({above, editor.node(*division).inputs[1], division});
      }
    }
  }
  return found;
}

// A gain or a shift of each column: the constant, and the node that applies it.
struct Applied {
  NodeIndex node;
  TensorIndex constant;
};
std::optional<Applied> column_constant(const Editor& editor, TensorIndex tensor, const char* op) {
  const auto next = editor.only_reader(tensor);
  const auto constant =
      next && editor.is(*next, op) ? other_input(editor.node(*next), tensor) : std::nullopt;
  if (!constant || *constant == no_tensor || !editor.is_constant(*constant) ||
      !editor.tensor(*constant).shape || !editor.tensor(tensor).shape ||
      editor.tensor(tensor).shape->empty() ||
      editor.tensor(*constant).shape != Shape{editor.tensor(tensor).shape->back()} ||
      !editor.same_shape(tensor, editor.node(*next).outputs[0])) {
    return std::nullopt;
  }
  return Applied{*next, *constant};
}

// With gain, and with shift when `shift`, after `at`.
void put_norm(Editor& editor, NodeIndex at, Pattern& pattern, const std::string& op, TensorIndex x,
              bool shift) {
  NodeIndex last = at;
  std::vector<TensorIndex> inputs{x};
  if (const auto gain = column_constant(editor, editor.node(at).outputs[0], "Mul")) {
    pattern.add(gain->node);
    inputs.push_back(gain->constant);
    last = gain->node;
    const auto offset =
        shift ? column_constant(editor, editor.node(last).outputs[0], "Add") : std::nullopt;
    if (offset) {
      pattern.add(offset->node);
      inputs.push_back(offset->constant);
      last = offset->node;
    }
  }
  Node node = replacement(editor.node(last), "", op, inputs);
  node.attributes["axis"] = std::int64_t{-1};
  pattern.become(last, std::move(node));
}

// What a quotient is the norm of; its other nodes go into the pattern.
using NormOf = std::optional<TensorIndex> (*)(const Editor&, const Quotient&, Pattern&);

// x of (x - mean(x)) / sqrt(mean((x - mean(x))^2) + e)
std::optional<TensorIndex> layer_norm_of(const Editor& editor, const Quotient& quotient,
                                         Pattern& pattern) {
  const auto centred = root_of_mean_square(editor, quotient.root, pattern);
  const auto difference = editor.maker(quotient.above, "Sub");
  if (!centred || *centred != quotient.above || !difference) {
    return std::nullopt;
  }
  pattern.add(*difference);
  const TensorIndex x = editor.node(*difference).inputs[0];
  const auto mean = mean_of_rows(editor, editor.node(*difference).inputs[1], pattern);
  return mean == x ? mean : std::nullopt;
}

// x of x / sqrt(mean(x^2) + e)
std::optional<TensorIndex> rms_norm_of(const Editor& editor, const Quotient& quotient,
                                       Pattern& pattern) {
  const auto x = root_of_mean_square(editor, quotient.root, pattern);
  return x && *x == quotient.above ? x : std::nullopt;
}

bool recognise_norm(Editor& editor, NodeIndex at, NormOf norm_of, const std::string& op,
                    bool shift) {
  for (const Quotient& quotient : quotients_of(editor, at)) {
    Pattern pattern(editor);
    pattern.add(at);
    if (quotient.inverse) {
      pattern.add(*quotient.inverse);
    }
    const auto x = norm_of(editor, quotient, pattern);
    if (x && pattern.closed(at)) {
      put_norm(editor, at, pattern, op, *x, shift);
      return true;
    }
  }
  return false;
}

std::uint64_t recognise_norms(Editor& editor, NormOf norm_of, const std::string& op, bool shift) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (editor.is(at, "Div") || editor.is(at, "Mul")) {
      changes += recognise_norm(editor, at, norm_of, op, shift) ? 1 : 0;
    }
  }
  return changes;
}

}  // namespace

std::uint64_t recognise_layer_norm(Editor& editor) {
  return recognise_norms(editor, layer_norm_of, "LayerNormalization", true);
}

std::uint64_t recognise_rms_norm(Editor& editor) {
  return recognise_norms(editor, rms_norm_of, "SimplifiedLayerNormalization", false);
}

// The norm of a sum, where the sum was; others who read the sum read it from there.
std::uint64_t fuse_skip_norm(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    const bool layer = editor.is(at, "LayerNormalization");
    if (!layer && !editor.is(at, "SimplifiedLayerNormalization")) {
      continue;
    }
    const Node norm = editor.node(at);
    const TensorIndex input = norm.inputs[0];
    const auto sum = editor.maker(input, "Add");
    const bool constants = std::all_of(norm.inputs.begin() + 1, norm.inputs.end(),
                                       [&](TensorIndex i) { return !editor.maker(i); });
    const bool statistics = norm.outputs.size() > 1 && norm.outputs[1] != no_tensor;
    if (!sum || !constants || statistics) {
      continue;
    }
    const auto axis = norm.attributes.find("axis");
    const auto last = editor.tensor(input).shape ? std::ssize(*editor.tensor(input).shape) - 1 : 0;
    const bool rows = axis == norm.attributes.end() ||
                      axis->second == Attribute(std::int64_t{-1}) ||
                      axis->second == Attribute(static_cast<std::int64_t>(last));
    const std::vector<TensorIndex> parts = editor.node(*sum).inputs;
    if (!rows || editor.is_constant(parts[0]) || editor.is_constant(parts[1]) ||
        !editor.same_shape(parts[0], parts[1]) || parts[0] == parts[1]) {
      continue;
    }
    std::vector<TensorIndex> inputs = parts;
    inputs.insert(inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
    Node node =
        replacement(norm, "com.microsoft",
                    layer ? "SkipLayerNormalization" : "SkipSimplifiedLayerNormalization", inputs);
    const bool alone = editor.only_reader(input).has_value();
    if (!alone) {
      node.outputs.resize(3, no_tensor);
      node.outputs.push_back(input);
    }
    editor.remove(at);
    editor.put(*sum, std::move(node));
    ++changes;
  }
  return changes;
}

}  // namespace tessera::onnx
