// Constant folding, dead code, views that do nothing, common subexpressions.
#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "layout.hpp"
#include "operators.hpp"
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

bool is_random(const Node& node) {
  return node.op.rfind("Random", 0) == 0 || node.op == "Bernoulli" || node.op == "Multinomial";
}

// Weights of few bits stay as they are: folded, they would be read at full width.
bool widens(const Node& node) {
  return node.op == "DequantizeLinear";
}

bool outputs_known(const Editor& editor, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](TensorIndex at) { return at == no_tensor || editor.tensor(at).values; });
}

bool inputs_constant(const Editor& editor, const Node& node) {
  const auto is_constant = [&](TensorIndex at) {
    return at == no_tensor || editor.is_constant(at);
  };
  return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), is_constant);
}

bool outputs_have_shapes(const Editor& editor, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](TensorIndex at) { return at == no_tensor || editor.tensor(at).shape; });
}

// All elements of a constant are `value`.
bool is_all(const Editor& editor, TensorIndex at, double value) {
  if (!editor.is_constant(at) || !editor.tensor(at).values) {
    return false;
  }
  const Values& values = *editor.tensor(at).values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.as_real(i) != value) {
      return false;
    }
  }
  return values.size() > 0;
}

// x + 0, x - 0, x * 1, x / 1, x ^ 1: the operand that stays.
std::optional<TensorIndex> neutral(const Editor& editor, const Node& node) {
  static const std::map<std::string, double> right{
      {"Add", 0}, {"Sub", 0}, {"Mul", 1}, {"Div", 1}, {"Pow", 1}};
  const auto found = right.find(node.op);
  if (found == right.end() || node.inputs.size() != 2) {
    return std::nullopt;
  }
  if (is_all(editor, node.inputs[1], found->second)) {
    return node.inputs[0];
  }
  const bool both_ways = node.op == "Add" || node.op == "Mul";
  return both_ways && is_all(editor, node.inputs[0], found->second) ? std::optional(node.inputs[1])
                                                                    : std::nullopt;
}

bool keeps_order(const Editor& editor, const Node& node) {
  if (node.op == "Transpose") {
    const std::vector<std::size_t> axes = transposed_axes(Operands(editor.graph(), node));
    return std::is_sorted(axes.begin(), axes.end());
  }
  if (node.op == "Slice") {
    try {
      const std::vector<Cut> cuts = cuts_of(Operands(editor.graph(), node));
      return std::all_of(cuts.begin(), cuts.end(), [](const Cut& cut) { return cut.step > 0; });
    } catch (const NotKnown&) {
      return false;  // its output is known from the file alone
    }
  }
  return true;
}

// With input and output of the same shape and type these change nothing.
bool can_do_nothing(const Editor& editor, const Node& node) {
  static const std::set<std::string> ops{
      "Identity", "Cast", "CastLike", "Reshape",   "Expand",    "Slice",        "Flatten",
      "Squeeze",  "Tile", "Pad",      "Unsqueeze", "Transpose", "CenterCropPad"};
  if (ops.contains(node.op)) {
    return keeps_order(editor, node);
  }
  const bool of_one = node.inputs.size() == 1;
  if (of_one && (node.op == "Concat" || node.op == "Sum" || node.op == "Max" || node.op == "Min" ||
                 node.op == "Mean")) {
    return true;
  }
  return node.op == "Dropout" && std::holds_alternative<View>(work_of(editor.graph(), node));
}

// What stands in place of the output, if the node does nothing.
std::optional<TensorIndex> same_as(const Editor& editor, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty() ||
      !node.epilogue.empty() || !node.unknown.empty() || node.outputs[0] == no_tensor) {
    return std::nullopt;
  }
  std::optional<TensorIndex> stays = neutral(editor, node);
  if (!stays && can_do_nothing(editor, node)) {
    stays = node.inputs[0];
  }
  const bool same = stays && editor.same_shape(*stays, node.outputs[0]) &&
                    editor.tensor(*stays).type == editor.tensor(node.outputs[0]).type;
  return same ? stays : std::nullopt;
}

std::string text_of(const Attribute& attribute) {
  std::ostringstream text;
  text << attribute.index() << ':';
  std::visit(
      [&text](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
          text << std::hexfloat << value;
        } else if constexpr (std::is_same_v<T, std::string>) {
          text << value.size() << ':' << value;
        } else {
          for (const auto& each : value) {
            text << std::hexfloat << each << '\x1F';
          }
        }
      },
      attribute);
  return text.str();
}

std::string key_of(const Node& node) {
  std::string key = node.kind();
  for (const auto& [name, value] : node.attributes) {
    key += '\x1E' + name + '=' + text_of(value);
  }
  for (const TensorIndex at : node.inputs) {
    key += '\x1E' + std::to_string(at);
  }
  return key + '\x1E' + std::to_string(node.outputs.size());
}

}  // namespace

std::uint64_t fold_constants(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    const Node& node = editor.node(at);
    const bool constant = inputs_constant(editor, node) && outputs_have_shapes(editor, node);
    if (!node.unknown.empty() || is_random(node) || widens(node) ||
        !(constant || outputs_known(editor, node))) {
      continue;
    }
    const std::vector<TensorIndex> outputs = node.outputs;
    editor.remove(at);
    for (const TensorIndex output : outputs) {
      if (output != no_tensor) {
        editor.make_constant(output);
      }
    }
    ++changes;
  }
  return changes;
}

// From the end, so that what only the dead read is dead as well.
std::uint64_t drop_dead_code(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex i = editor.size(); i > 0; --i) {
    const NodeIndex at = i - 1;
    const auto is_read = [&](TensorIndex tensor) {
      return tensor != no_tensor && (editor.is_output(tensor) || !editor.readers(tensor).empty());
    };
    const Node& node = editor.node(at);
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_read)) {
      editor.remove(at);
      ++changes;
      continue;
    }
    Node lean = node;
    for (std::size_t output = 1; output < lean.outputs.size(); ++output) {
      if (lean.outputs[output] != no_tensor && !is_read(lean.outputs[output])) {
        lean.outputs[output] = no_tensor;
        ++changes;
      }
    }
    editor.put(at, std::move(lean));
  }
  return changes;
}

std::uint64_t drop_views(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    const auto stays = same_as(editor, editor.node(at));
    const TensorIndex output = stays ? editor.node(at).outputs[0] : no_tensor;
    // Outputs of the model stay tensors of their own beside its inputs and constants.
    if (!stays || (editor.is_output(output) && !editor.maker(*stays))) {
      continue;
    }
    editor.replace(output, *stays);
    editor.remove(at);
    ++changes;
  }
  return changes;
}

std::uint64_t merge_equal_nodes(Editor& editor) {
  std::uint64_t changes = 0;
  std::map<std::string, NodeIndex> first;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    const Node& node = editor.node(at);
    if (is_random(node) || !node.unknown.empty() || !node.epilogue.empty()) {
      continue;
    }
    const auto [found, is_new] = first.try_emplace(key_of(node), at);
    const std::vector<TensorIndex> mine = node.outputs;
    const std::vector<TensorIndex> theirs = editor.node(found->second).outputs;
    const auto blocked = [&](std::size_t i) {
      return mine[i] != no_tensor && (theirs[i] == no_tensor || editor.is_output(mine[i]));
    };
    bool fits = !is_new;
    for (std::size_t i = 0; i < mine.size() && fits; ++i) {
      fits = !blocked(i);
    }
    if (!fits) {
      continue;
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i] != no_tensor) {
        editor.replace(mine[i], theirs[i]);
      }
    }
    editor.remove(at);
    ++changes;
  }
  return changes;
}

}  // namespace tessera::onnx
