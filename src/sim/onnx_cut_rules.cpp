#include "onnx_cut_rules.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Shape;
using onnx::Tensor;
using onnx::TensorIndex;
using workload::Sharding;
using Choices = std::vector<CutChoice>;

const Shape* shape_of(const OnnxLook& look, const std::vector<TensorIndex>& list, std::size_t at) {
  if (at >= list.size() || list[at] == onnx::no_tensor || !look.tensor(list[at]).shape) {
    return nullptr;
  }
  return &*look.tensor(list[at]).shape;
}

CutChoice all_whole(const Node& node, Sharding sharding) {
  return {sharding, std::vector<int>(node.inputs.size(), whole),
          std::vector<int>(node.outputs.size(), whole)};
}

std::int64_t attribute(const Node& node, const char* name, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found != node.attributes.end() && std::holds_alternative<std::int64_t>(found->second)
             ? std::get<std::int64_t>(found->second)
             : otherwise;
}

int from_front(std::int64_t axis, std::size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

// Axis of an operand that is stretched to the output's sides; none: they do not fit.
std::optional<int> stretched_axis(const Shape& operand, const Shape& output, int axis) {
  const int own = axis - static_cast<int>(output.size()) + static_cast<int>(operand.size());
  if (own < 0 || operand[static_cast<std::size_t>(own)] == 1) {
    return whole;
  }
  const bool fits =
      operand[static_cast<std::size_t>(own)] == output[static_cast<std::size_t>(axis)];
  return fits ? std::optional(own) : std::nullopt;
}

bool is_epilogue_operand(const Node& node, TensorIndex tensor) {
  return std::any_of(node.epilogue.begin(), node.epilogue.end(), [&](const onnx::Epilogue& step) {
    return std::count(step.operands.begin(), step.operands.end(), tensor) > 0;
  });
}

// Operands of the fused steps go with the first output; false: one does not fit.
bool cut_epilogue(const OnnxLook& look, const Node& node, CutChoice& choice) {
  if (choice.outputs[0] == whole) {
    return true;
  }
  const Shape* const output = shape_of(look, node.outputs, 0);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == onnx::no_tensor || !is_epilogue_operand(node, node.inputs[i])) {
      continue;
    }
    const Shape* const operand = shape_of(look, node.inputs, i);
    const auto axis = operand != nullptr && output != nullptr
                          ? stretched_axis(*operand, *output, choice.outputs[0])
                          : std::nullopt;
    if (!axis) {
      return false;
    }
    choice.inputs[i] = *axis;
  }
  return true;
}

bool agrees(const CutChoice& choice, const CutPlace& place) {
  const std::vector<int>& list = place.of_input ? choice.inputs : choice.outputs;
  return list[place.at] == place.axis;
}

// Those that cut the tensor where the cut comes from.
Choices fitting(const OnnxLook& look, const Node& node, Choices choices, const CutPlace& place) {
  std::erase_if(choices, [&](CutChoice& choice) {
    return !cut_epilogue(look, node, choice) || !agrees(choice, place);
  });
  return choices;
}

// Inputs beside the first two: a bias is added to all columns.
void cut_bias(const Node& node, CutChoice& choice) {
  if (node.inputs.size() > 2 && !is_epilogue_operand(node, node.inputs[2]) &&
      node.inputs[2] != onnx::no_tensor) {
    choice.inputs[2] = 0;
  }
}

bool turns(const Node& node, const char* flag) {
  return attribute(node, flag, 0) != 0;
}

CutChoice by_columns(const OnnxLook& look, const Node& node) {
  CutChoice choice = all_whole(node, Sharding::column);
  choice.inputs[1] = turns(node, "transB") ? 0 : 1;
  choice.outputs[0] = static_cast<int>(shape_of(look, node.outputs, 0)->size()) - 1;
  const Shape* const bias = shape_of(look, node.inputs, 2);
  if (bias != nullptr && bias->size() == 1 && bias->front() > 1) {
    cut_bias(node, choice);
  }
  return choice;
}

CutChoice by_rows(const OnnxLook& look, const Node& node) {
  CutChoice choice = all_whole(node, Sharding::row);
  choice.inputs[0] = static_cast<int>(shape_of(look, node.inputs, 0)->size()) - 1;
  choice.inputs[1] = turns(node, "transB") ? 1 : 0;
  return choice;
}

// Of activations with activations, by a side of the batch: heads.
Choices by_batch(const OnnxLook& look, const Node& node) {
  const Shape* const left = shape_of(look, node.inputs, 0);
  const Shape* const right = shape_of(look, node.inputs, 1);
  const Shape* const output = shape_of(look, node.outputs, 0);
  Choices choices;
  if (left == nullptr || right == nullptr || output == nullptr || left->size() < 2 ||
      right->size() < 2) {
    return choices;
  }
  for (int axis = 0; axis + 2 < static_cast<int>(output->size()); ++axis) {
    const auto of_left = stretched_axis(*left, *output, axis);
    const auto of_right = stretched_axis(*right, *output, axis);
    if ((*output)[static_cast<std::size_t>(axis)] == 1 || !of_left || !of_right) {
      continue;
    }
    CutChoice choice = all_whole(node, Sharding::heads);
    choice.inputs[0] = *of_left;
    choice.inputs[1] = *of_right;
    choice.outputs[0] = axis;
    choices.push_back(std::move(choice));
  }
  return choices;
}

Choices products(const OnnxLook& look, NodeNumber number, const Node& node) {
  static const std::set<std::string> plain{"MatMul", "FusedMatMul", "TransposeMatMul"};
  if (is_weight_product(look, number)) {
    return {by_columns(look, node), by_rows(look, node)};
  }
  const bool constant = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorIndex at) {
    return at != onnx::no_tensor && look.is_constant(at) && !is_epilogue_operand(node, at);
  });
  return plain.count(node.op) > 0 && !constant ? by_batch(look, node) : Choices{};
}

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

bool cut_operands(const OnnxLook& look, const std::vector<TensorIndex>& tensors,
                  const std::vector<Operand>& operands, const onnx::Attention& work, bool late,
                  std::vector<int>& axes) {
  for (std::size_t i = 0; i < std::min(tensors.size(), operands.size()); ++i) {
    const Shape* const shape = shape_of(look, tensors, i);
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
void cut_masks(const OnnxLook& look, const Node& node, const onnx::Attention& work,
               const AttentionLayout& layout, CutChoice& choice) {
  for (std::size_t i = 3; i < node.inputs.size(); ++i) {
    const Shape* const shape = shape_of(look, node.inputs, i);
    const bool free = i >= layout.inputs.size() || layout.inputs[i] == Operand::none;
    if (free && shape != nullptr && shape->size() == 4 && work.heads > 1 &&
        (*shape)[1] == static_cast<std::int64_t>(work.heads)) {
      choice.inputs[i] = 1;
    }
  }
}

Choices attentions(const OnnxLook& look, const Node& node, const onnx::Attention& work) {
  const AttentionLayout* const layout = layout_of(node);
  Choices choices;
  for (const bool late : {false, true}) {
    CutChoice choice = all_whole(node, Sharding::heads);
    if (layout == nullptr || work.heads < 2 ||
        !cut_operands(look, node.inputs, layout->inputs, work, late, choice.inputs) ||
        !cut_operands(look, node.outputs, layout->outputs, work, late, choice.outputs)) {
      continue;
    }
    cut_masks(look, node, work, *layout, choice);
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

// Each element of the output from those at its place.
Choices element_wise(const OnnxLook& look, const Node& node, const CutPlace& place) {
  const Shape* const output = shape_of(look, node.outputs, 0);
  if (output == nullptr || node.outputs.size() != 1) {
    return {};
  }
  int axis = place.axis;
  if (place.of_input) {
    axis += static_cast<int>(output->size()) -
            static_cast<int>(look.tensor(node.inputs[place.at]).shape->size());
  }
  if (axis < 0) {
    return {};
  }
  CutChoice choice = all_whole(node, Sharding::heads);
  choice.outputs[0] = axis;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == onnx::no_tensor) {
      continue;
    }
    const Shape* const input = shape_of(look, node.inputs, i);
    const auto own = input != nullptr ? stretched_axis(*input, *output, axis) : std::nullopt;
    if (!own) {
      return {};
    }
    choice.inputs[i] = *own;
  }
  return {choice};
}

// Of the first input and output alone; what else is read is the same for all.
Choices along(const OnnxLook& look, const Node& node, const CutPlace& place) {
  const Shape* const input = shape_of(look, node.inputs, 0);
  const Shape* const output = shape_of(look, node.outputs, 0);
  if (place.at != 0 || input == nullptr || output == nullptr || input->size() != output->size()) {
    return {};
  }
  const auto axis = static_cast<std::size_t>(place.axis);
  if ((*input)[axis] != (*output)[axis]) {
    return {};
  }
  CutChoice choice = all_whole(node, Sharding::heads);
  choice.inputs[0] = choice.outputs[0] = place.axis;
  return {choice};
}

// First axis that a norm or softmax goes over.
int first_row_axis(const Node& node, std::size_t rank) {
  const bool old_softmax = node.op.find("max") != std::string::npos && node.version < 13;
  const bool by_axis = node.attributes.count("axis") > 0 || old_softmax;
  return by_axis ? from_front(attribute(node, "axis", 1), rank) : static_cast<int>(rank) - 1;
}

// Rows are each done by one member: the cut must not go through them.
Choices rows(const OnnxLook& look, const Node& node, const onnx::RowWork& work,
             const CutPlace& place) {
  static const std::set<std::string> known{"Softmax", "LogSoftmax", "LayerNormalization",
                                           "SimplifiedLayerNormalization", "RMSNormalization"};
  if (work.form == onnx::RowWork::Form::reduction) {
    return attribute(node, "keepdims", 1) != 0 ? along(look, node, place) : Choices{};
  }
  const Shape* const input = shape_of(look, node.inputs, 0);
  if (known.count(node.op) == 0 || input == nullptr) {
    return {};
  }
  const int first = first_row_axis(node, input->size());
  const bool alone = node.op.find("max") != std::string::npos && node.version >= 13;
  const bool inside = alone ? place.axis == first : place.axis >= first;
  return inside ? Choices{} : along(look, node, place);
}

std::vector<int> permutation(const Node& node, std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  const auto found = node.attributes.find("perm");
  if (found != node.attributes.end()) {
    const auto* const list = std::get_if<std::vector<std::int64_t>>(&found->second);
    if (list != nullptr && list->size() == rank) {
      std::transform(list->begin(), list->end(), order.begin(),
                     [](std::int64_t axis) { return static_cast<int>(axis); });
    }
  }
  return order;
}

Choices transposed(const OnnxLook& look, const Node& node, const CutPlace& place) {
  const Shape* const input = shape_of(look, node.inputs, 0);
  if (input == nullptr || place.at != 0) {
    return {};
  }
  const std::vector<int> order = permutation(node, input->size());
  CutChoice choice = all_whole(node, Sharding::heads);
  const auto found = std::find(order.begin(), order.end(), place.axis);
  choice.inputs[0] = place.of_input ? place.axis : order[static_cast<std::size_t>(place.axis)];
  choice.outputs[0] = place.of_input ? static_cast<int>(found - order.begin()) : place.axis;
  return {choice};
}

Choices viewed(const OnnxLook& look, NodeNumber number, const Node& node, const CutPlace& place) {
  if (look.gives_sides(number)) {  // the tensor's elements are not read
    CutChoice choice = all_whole(node, Sharding::replicated);
    choice.inputs[0] = place.axis;
    return place.of_input ? Choices{choice} : Choices{};
  }
  const Shape* const input = shape_of(look, node.inputs, 0);
  const Shape* const output = shape_of(look, node.outputs, 0);
  Choices choices;
  if (input == nullptr || output == nullptr || place.at != 0) {
    return choices;
  }
  for (const int axis : place.of_input ? axes_after_reshape(*input, *output, place.axis)
                                       : axes_after_reshape(*output, *input, place.axis)) {
    CutChoice choice = all_whole(node, Sharding::heads);
    choice.inputs[0] = place.of_input ? place.axis : axis;
    choice.outputs[0] = place.of_input ? axis : place.axis;
    choices.push_back(std::move(choice));
  }
  return choices;
}

// Parts along an axis, of tensors of one rank: columns of a part go to the members as the whole's.
Choices parts(const Node& node, const CutPlace& place, std::size_t inputs, std::size_t outputs) {
  if (place.of_input && place.at >= inputs) {
    return {};
  }
  CutChoice choice = all_whole(node, Sharding::heads);
  std::fill_n(choice.inputs.begin(), inputs, place.axis);
  std::fill_n(choice.outputs.begin(), outputs, place.axis);
  return {choice};
}

// By a number: the axis falls away, others keep their order.
Choices gathered(const OnnxLook& look, const Node& node, const CutPlace& place) {
  const Shape* const table = shape_of(look, node.inputs, 0);
  const Shape* const index = shape_of(look, node.inputs, 1);
  if (table == nullptr || index == nullptr || place.at != 0) {
    return {};
  }
  const int axis = from_front(attribute(node, "axis", 0), table->size());
  const int more = static_cast<int>(index->size()) - 1;
  CutChoice choice = all_whole(node, Sharding::heads);
  if (place.of_input) {
    if (place.axis == axis) {
      return {};
    }
    choice.inputs[0] = place.axis;
    choice.outputs[0] = place.axis < axis ? place.axis : place.axis + more;
  } else {
    if (place.axis >= axis && place.axis <= axis + more) {
      return {};
    }
    choice.outputs[0] = place.axis;
    choice.inputs[0] = place.axis < axis ? place.axis : place.axis - more;
  }
  return {choice};
}

Choices moved(const OnnxLook& look, const Node& node, const CutPlace& place) {
  if (node.op == "Transpose") {
    return transposed(look, node, place);
  }
  if (node.op == "Concat") {
    return parts(node, place, node.inputs.size(), 1);
  }
  if (node.op == "Split") {
    return parts(node, place, 1, node.outputs.size());
  }
  if (node.op == "Slice") {
    return parts(node, place, 1, 1);
  }
  if (node.op == "Gather") {
    return gathered(look, node, place);
  }
  if (node.op != "Expand") {
    return {};
  }
  // Not along the axis that is stretched.
  Choices choices = element_wise(look, node, place);
  std::erase_if(choices, [](const CutChoice& choice) { return choice.inputs[0] == whole; });
  for (CutChoice& choice : choices) {
    std::fill(choice.inputs.begin() + 1, choice.inputs.end(), whole);
  }
  return choices;
}

bool is_broadcast(const Node& node) {
  static const std::set<std::string> others{"BatchNormalization",
                                            "Col2Im",
                                            "CumSum",
                                            "DynamicQuantizeLinear",
                                            "EmbedLayerNormalization",
                                            "GroupNorm",
                                            "LRN",
                                            "Normalizer",
                                            "PRelu",
                                            "Resize",
                                            "Upsample"};
  return others.count(node.op) == 0;
}

bool is_rotation(const Node& node) {
  return node.op == "RotaryEmbedding";
}

Choices choices_of(const OnnxLook& look, NodeNumber number, const CutPlace& place) {
  const Node& node = look.node(number);
  const onnx::Work& work = look.work(number);
  if (std::holds_alternative<onnx::Product>(work)) {
    return products(look, number, node);
  }
  if (const auto* const attention = std::get_if<onnx::Attention>(&work)) {
    return attentions(look, node, *attention);
  }
  if (const auto* const row = std::get_if<onnx::RowWork>(&work)) {
    return rows(look, node, *row, place);
  }
  if (std::holds_alternative<onnx::View>(work)) {
    return viewed(look, number, node, place);
  }
  if (std::holds_alternative<onnx::Append>(work)) {
    return parts(node, place, 2, 1);
  }
  if (std::holds_alternative<onnx::ElementWise>(work) && is_broadcast(node)) {
    return is_rotation(node) ? along(look, node, place) : element_wise(look, node, place);
  }
  const bool moves =
      std::holds_alternative<onnx::Movement>(work) || std::holds_alternative<onnx::Lookup>(work);
  return moves ? moved(look, node, place) : Choices{};
}

// Sides that are not one, with their axes.
std::vector<std::pair<int, std::int64_t>> real_sides(const Shape& shape) {
  std::vector<std::pair<int, std::int64_t>> sides;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) {
      sides.emplace_back(static_cast<int>(i), shape[i]);
    }
  }
  return sides;
}

}  // namespace

std::vector<int> axes_after_reshape(const Shape& from, const Shape& to, int axis) {
  const auto before = real_sides(from);
  const auto after = real_sides(to);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() && j < after.size()) {
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    std::int64_t product_i = before[i++].second;
    std::int64_t product_j = after[j++].second;
    while (product_i != product_j) {
      const bool before_is_less = product_i < product_j;
      if (before_is_less ? i == before.size() : j == after.size()) {
        return {};
      }
      if (before_is_less) {
        product_i *= before[i++].second;
      } else {
        product_j *= after[j++].second;
      }
    }
    for (std::size_t at = first_i; at < i; ++at) {
      if (before[at].first == axis) {
        std::vector<int> axes;
        for (std::size_t other = first_j; other < j; ++other) {
          axes.push_back(after[other].first);
        }
        return axes;
      }
    }
  }
  return {};
}

bool is_weight_product(const OnnxLook& look, NodeNumber number) {
  static const std::set<std::string> plain{"MatMul", "FusedMatMul", "TransposeMatMul", "Gemm",
                                           "FusedGemm"};
  const Node& node = look.node(number);
  if (!std::holds_alternative<onnx::Product>(look.work(number)) || plain.count(node.op) == 0 ||
      node.inputs.size() < 2 || turns(node, "transA")) {
    return false;
  }
  const Shape* const left = shape_of(look, node.inputs, 0);
  const Shape* const right = shape_of(look, node.inputs, 1);
  return left != nullptr && right != nullptr && left->size() >= 2 && right->size() == 2 &&
         look.is_constant(node.inputs[1]) && !look.is_known(node.inputs[0]);
}

bool begins_cut(const OnnxLook& look, NodeNumber number, CutChoice& choice) {
  const Node& node = look.node(number);
  if (is_weight_product(look, number)) {
    choice = by_columns(look, node);
    return cut_epilogue(look, node, choice);
  }
  const auto* const attention = std::get_if<onnx::Attention>(&look.work(number));
  if (attention == nullptr || attention->projection_flops == 0) {
    return false;
  }
  const Choices choices = attentions(look, node, *attention);
  if (choices.empty()) {
    return false;
  }
  choice = choices.front();
  return cut_epilogue(look, node, choice);
}

std::vector<CutChoice> cut_choices(const OnnxLook& look, NodeNumber number, const CutPlace& place) {
  return fitting(look, look.node(number), choices_of(look, number, place), place);
}

}  // namespace tessera::sim
