#include "onnx/cut/tools.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::TensorIndex;
using workload::Sharding;

// What an operand of attention is: of all heads, of those of keys and values, of neither.
enum class Operand : char { none, query, key, cache };

struct AttentionLayout {
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
};

const AttentionLayout* layout_of(const Node& node) {
  using enum Operand;
  static const std::map<std::string, AttentionLayout> layouts{
      {"Attention", {{query, key, key, none, key, key}, {query, key, key, query}}},
      {"com.microsoft.Attention", {{none, none, none, none, cache}, {query, cache}}},
      {"com.microsoft.GroupQueryAttention", {{query, key, key, key, key}, {query, key, key}}},
      {"com.microsoft.MultiHeadAttention",
       {{query, key, key, none, none, none, key, key}, {query, key, key}}},
      {"tessera.Attention", {{query, key, key}, {query}}}};
  const auto found = layouts.find(node.domain.empty() ? node.op : node.domain + "." + node.op);
  return found == layouts.end() ? nullptr : &found->second;
}

// The axis with the heads, [batch, heads, tokens, width] before [batch, tokens, heads, width], or
// all heads side by side; none: it has no such axis. `late`: the other way round.
std::optional<int> head_axis(const Shape& shape, std::uint64_t heads, Operand operand, bool late) {
  const auto count = static_cast<std::int64_t>(heads);
  const auto is = [&](std::size_t at) { return shape[at] == count; };
  switch (shape.size()) {
    case 5:  // packed keys and values, or a cache of both
      return operand == Operand::cache ? 2 : (is(2) ? std::optional(2) : std::nullopt);
    case 4:
      return is(late ? 2 : 1)   ? std::optional(late ? 2 : 1)
             : is(late ? 1 : 2) ? std::optional(late ? 1 : 2)
                                : std::nullopt;
    case 3:
      return shape[2] % count == 0 && !is(0) ? std::optional(2)
             : is(0)                         ? std::optional(0)
             : shape[2] % count == 0         ? std::optional(2)
                                             : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool cut_operands(const OnnxSurvey& survey, const std::vector<TensorIndex>& tensors,
                  const std::vector<Operand>& operands, const onnx::Attention& work, bool late,
                  std::vector<int>& axes) {
  for (std::size_t i = 0; i < std::min(tensors.size(), operands.size()); ++i) {
    const Shape* const shape = shape_of(survey, tensors, i);
    if (operands[i] == Operand::none || shape == nullptr) {
      continue;
    }
    const auto axis = head_axis(*shape, operands[i] == Operand::key ? work.kv_heads : work.heads,
                                operands[i], late);
    if (!axis) {
      return false;
    }
    axes[i] = *axis;
  }
  return true;
}

// A mask or bias with a side of heads of its own.
void cut_masks(const OnnxSurvey& survey, const Node& node, const onnx::Attention& work,
               const AttentionLayout& layout, AxesChoice& choice) {
  for (std::size_t i = 3; i < node.inputs.size(); ++i) {
    const Shape* const shape = shape_of(survey, node.inputs, i);
    const bool free = i >= layout.inputs.size() || layout.inputs[i] == Operand::none;
    if (free && shape != nullptr && shape->size() == 4 && work.heads > 1 &&
        (*shape)[1] == static_cast<std::int64_t>(work.heads)) {
      choice.inputs[i] = 1;
    }
  }
}

}  // namespace

CutChoices cut_attention(const OnnxSurvey& survey, const Node& node, const onnx::Attention& work) {
  const AttentionLayout* const layout = layout_of(node);
  CutChoices choices;
  for (const bool late : {false, true}) {
    AxesChoice choice = all_whole(node, Sharding::heads);
    if (layout == nullptr || work.heads < 2 ||
        !cut_operands(survey, node.inputs, layout->inputs, work, late, choice.inputs) ||
        !cut_operands(survey, node.outputs, layout->outputs, work, late, choice.outputs)) {
      continue;
    }
    cut_masks(survey, node, work, *layout, choice);
    if (work.projection_flops > 0) {  // weights [width, heads], their bias
      choice.sharding = Sharding::column;
      choice.inputs[1] = 1;
      choice.inputs[2] = node.inputs.size() > 2 && node.inputs[2] != onnx::no_tensor ? 0 : whole;
    }
    // The bias of queries, keys and values.
    if (node.op == "MultiHeadAttention" && node.inputs.size() > 3 &&
        node.inputs[3] != onnx::no_tensor) {
      choice.inputs[3] = 0;
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace tessera::sim
