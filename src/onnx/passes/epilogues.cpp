// What a node can do on its output before writing it, and how it can read its inputs.
#include <algorithm>
#include <vector>

#include "layout.hpp"
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

bool is_product(const Work& work) {
  return std::holds_alternative<Product>(work) || std::holds_alternative<Convolution>(work);
}

bool understood(const Node& node) {
  return node.unknown.empty() && !node.outputs.empty() && node.outputs[0] != no_tensor;
}

// One output that one node reads, which does something to each element of it.
std::optional<NodeIndex> next_element_wise(const Editor& editor, NodeIndex at) {
  const Node& node = editor.node(at);
  const auto next = editor.only_reader(node.outputs[0]);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_tensor) {
      return std::nullopt;
    }
  }
  if (!next || !understood(editor.node(*next))) {
    return std::nullopt;
  }
  const Node& follower = editor.node(*next);
  for (const Epilogue& step : follower.epilogue) {
    // What the follower takes in later cannot begin it.
    if (std::count(step.operands.begin(), step.operands.end(), node.outputs[0]) > 0) {
      return std::nullopt;
    }
  }
  const auto once = std::count(follower.inputs.begin(), follower.inputs.end(), node.outputs[0]);
  const Work work = work_of(editor.graph(), follower);
  const bool fits =
      once == 1 && std::holds_alternative<ElementWise>(work) &&
      editor.same_shape(node.outputs[0], follower.outputs[0]) &&
      editor.tensor(node.outputs[0]).type == editor.tensor(follower.outputs[0]).type &&
      std::all_of(follower.outputs.begin() + 1, follower.outputs.end(),
                  [](TensorIndex output) { return output == no_tensor; });
  return fits ? next : std::nullopt;
}

// The follower's work after the node's, at the place of the follower.
void join(Editor& editor, NodeIndex at, NodeIndex next) {
  Node node = editor.node(at);
  const Node follower = editor.node(next);
  const Cost cost = cost_of(editor.graph(), follower);
  Epilogue step{follower.op, cost.vector.count(), {}};
  for (const Epilogue& later : follower.epilogue) {
    step.flops -= later.flops;
  }
  // Inputs by position stay where the rule of the node looks for them.
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3), no_tensor);
  for (const TensorIndex input : follower.inputs) {
    if (input != no_tensor && input != node.outputs[0]) {
      node.inputs.push_back(input);
      step.operands.push_back(input);
    }
  }
  node.epilogue.push_back(std::move(step));
  node.epilogue.insert(node.epilogue.end(), follower.epilogue.begin(), follower.epilogue.end());
  node.outputs = {follower.outputs[0]};
  editor.remove(at);
  editor.put(next, std::move(node));
}

bool has_skip(const Node& node) {
  return std::any_of(node.epilogue.begin(), node.epilogue.end(),
                     [](const Epilogue& step) { return step.op == "Add"; });
}

// An activation function, or a sum with a skip or a constant.
bool is_epilogue(const Editor& editor, NodeIndex at, NodeIndex next) {
  const Node& follower = editor.node(next);
  if (std::get<ElementWise>(work_of(editor.graph(), follower)).activation) {
    return follower.inputs[0] == editor.node(at).outputs[0];
  }
  return follower.domain.empty() && follower.op == "Add" && !has_skip(editor.node(at));
}

// Nodes on the longest way from the graph's inputs to each.
std::vector<std::uint64_t> depths_of(const Editor& editor) {
  std::vector<std::uint64_t> depths(editor.size());
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    for (const TensorIndex input : editor.node(at).inputs) {
      const auto maker = editor.alive(at) ? editor.maker(input) : std::nullopt;
      depths[at] = std::max(depths[at], maker ? depths[*maker] + 1 : 0);
    }
  }
  return depths;
}

// Whether the sum of two products is better done by the other one: that with more nodes before it,
// so that the shorter way need not wait for the longer.
bool is_for_another(const Editor& editor, NodeIndex at, NodeIndex sum,
                    const std::vector<std::uint64_t>& depths) {
  const std::vector<TensorIndex>& inputs = editor.node(sum).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](TensorIndex input) {
    const auto other = editor.maker(input);
    return other && depths[*other] > depths[at] && understood(editor.node(*other)) &&
           is_product(work_of(editor.graph(), editor.node(*other))) &&
           next_element_wise(editor, *other) == sum && is_epilogue(editor, *other, sum);
  });
}

// Operators without a fixed number of inputs would take operands for more of them.
bool takes_operands(const Node& node) {
  static const std::set<std::string> many{"Sum", "Max", "Min", "Mean", "Einsum"};
  return !(node.domain.empty() && many.contains(node.op));
}

bool swaps_last_two(const Editor& editor, const Node& transpose) {
  const std::vector<std::size_t> axes = transposed_axes(Operands(editor.graph(), transpose));
  const std::size_t rank = axes.size();
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (axes[i] != i) {
      return false;
    }
  }
  return rank >= 2 && axes[rank - 2] == rank - 1 && axes[rank - 1] == rank - 2;
}

// Two transpositions that undo each other.
bool undo_transposes(Editor& editor, NodeIndex at) {
  const auto before = editor.maker(editor.node(at).inputs[0], "Transpose");
  if (!before || editor.is_output(editor.node(at).outputs[0])) {
    return false;
  }
  const std::vector<std::size_t> first =
      transposed_axes(Operands(editor.graph(), editor.node(*before)));
  const std::vector<std::size_t> second =
      transposed_axes(Operands(editor.graph(), editor.node(at)));
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (first[second[i]] != i) {
      return false;
    }
  }
  editor.replace(editor.node(at).outputs[0], editor.node(*before).inputs[0]);
  editor.remove(at);
  return true;
}

std::int64_t flag_of(const Node& node, const char* name) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && std::holds_alternative<std::int64_t>(found->second)
             ? std::get<std::int64_t>(found->second)
             : 0;
}

// An operand of a product, read the other way round.
bool turn_operand(Editor& editor, NodeIndex at, std::size_t side) {
  Node node = editor.node(at);
  const bool plain = node.domain.empty() && (node.op == "MatMul" || node.op == "Gemm");
  const bool fused = node.domain == "com.microsoft" && node.op == "FusedMatMul";
  if (!(plain || fused) || !understood(node)) {
    return false;
  }
  const auto transpose = editor.only_reader(node.inputs[side])
                             ? editor.maker(node.inputs[side], "Transpose")
                             : std::nullopt;
  const auto& one = editor.tensor(node.inputs[0]).shape;
  const auto& other = editor.tensor(node.inputs[1]).shape;
  if (!transpose || !swaps_last_two(editor, editor.node(*transpose)) || !one || !other ||
      one->size() < 2 || other->size() < 2) {
    return false;
  }
  const char* flag = side == 0 ? "transA" : "transB";
  node.attributes[flag] = std::int64_t{flag_of(node, flag) == 0};
  node.inputs[side] = editor.node(*transpose).inputs[0];
  if (node.op == "MatMul") {
    node.domain = "com.microsoft";
    node.op = "FusedMatMul";
    node.version = 1;
  }
  editor.put(at, std::move(node));
  editor.remove(*transpose);
  return true;
}

}  // namespace

std::uint64_t fuse_epilogues(Editor& editor) {
  const std::vector<std::uint64_t> depths = depths_of(editor);
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.alive(at) || !understood(editor.node(at)) || !takes_operands(editor.node(at)) ||
        !is_product(work_of(editor.graph(), editor.node(at)))) {
      continue;
    }
    // The joined node stands further on, where it is looked at again.
    const auto next = next_element_wise(editor, at);
    if (next && is_epilogue(editor, at, *next) && !is_for_another(editor, at, *next, depths)) {
      join(editor, at, *next);
      ++changes;
    }
  }
  return changes;
}

std::uint64_t fuse_chains(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.alive(at) || !understood(editor.node(at)) || !takes_operands(editor.node(at))) {
      continue;
    }
    const Work work = work_of(editor.graph(), editor.node(at));
    const auto* const rows = std::get_if<RowWork>(&work);
    const bool begins = is_product(work) || std::holds_alternative<ElementWise>(work) ||
                        std::holds_alternative<Attention>(work) ||
                        std::holds_alternative<Pooling>(work) ||
                        (rows != nullptr && rows->form != RowWork::Form::reduction);
    const auto next = begins ? next_element_wise(editor, at) : std::nullopt;
    if (next) {
      join(editor, at, *next);
      ++changes;
    }
  }
  return changes;
}

std::uint64_t read_transposes_in_place(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.alive(at)) {
      continue;
    }
    if (editor.is(at, "Transpose")) {
      changes += undo_transposes(editor, at) ? 1 : 0;
      continue;
    }
    changes += turn_operand(editor, at, 0) ? 1 : 0;
    changes += turn_operand(editor, at, 1) ? 1 : 0;
  }
  return changes;
}

}  // namespace tessera::onnx
