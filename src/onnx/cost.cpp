#include <algorithm>
#include <set>

#include "operators.hpp"
#include "rules/window.hpp"
#include "tessera/core/error.hpp"
#include "tessera/onnx/work.hpp"

namespace tessera::onnx {
namespace {

// Of a score of attention: scale, mask, and the softmax's 5.
constexpr std::uint64_t score_flops = 7;
// Of an element of the state and step: LSTM three sigmoids (4), two tanh, three products, one sum;
// GRU two sigmoids, a tanh, three products, three sums; RNN a tanh.
std::uint64_t cell_flops(std::uint64_t gates) {
  return gates == 4 ? 18 : gates == 3 ? 15 : 1;
}

struct FlopCount {
  std::uint64_t matrix = 0;
  std::uint64_t vector = 0;
};

// Rules have checked that none of these overflows.
struct Counter {
  FlopCount operator()(const Product& work) const {
    return {work.operations * work.count * work.rows * work.columns * work.depth, 0};
  }
  FlopCount operator()(const Convolution& work) const {
    const std::uint64_t places = work.batch * elements_of(work.kernel);
    if (work.transposed) {
      return {2 * places * work.input_channels * elements_of(work.input) *
                  (work.output_channels / work.groups),
              0};
    }
    return {2 * places * work.output_channels * elements_of(work.output) *
                (work.input_channels / work.groups),
            0};
  }
  FlopCount operator()(const Attention& work) const {
    const std::uint64_t pairs = work.twice_pairs();
    return {pairs * (work.key_width + work.value_width) + work.projection_flops,
            (score_flops * pairs + 1) / 2};
  }
  FlopCount operator()(const Recurrent& work) const {
    const std::uint64_t states = work.steps * work.batch * work.hidden_width * work.directions;
    return {2 * states * work.gates * (work.input_width + work.hidden_width),
            cell_flops(work.gates) * states};
  }
  FlopCount operator()(const RowWork& work) const {
    return {0, work.rows * work.columns * work.flops_per_element};
  }
  FlopCount operator()(const Pooling& work) const {
    return {0, work.outputs * work.window * work.flops_per_element};
  }
  FlopCount operator()(const ElementWise& work) const {
    return {0, work.elements * work.flops_per_element};
  }
  FlopCount operator()(const Lookup&) const { return {}; }
  FlopCount operator()(const Movement&) const { return {}; }
  FlopCount operator()(const Append&) const { return {}; }
  FlopCount operator()(const View&) const { return {}; }
  FlopCount operator()(const Other& work) const { return {0, work.flops}; }
};

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw ConfigError("the work of the model does not fit 64 bits");
  }
  return sum;
}

bool is_table_of_positions(const Node& node, std::size_t input) {
  if (node.domain.empty()) {
    return node.op == "RotaryEmbedding" && (input == 1 || input == 2);
  }
  return node.domain == "com.microsoft" &&
         ((node.op == "GroupQueryAttention" && (input == 7 || input == 8)) ||
          (node.op == "RotaryEmbedding" && (input == 2 || input == 3)));
}

Bytes bytes_of(std::uint64_t elements, ElementType type) {
  return Bytes((elements * bits_of(type) + 7) / 8);
}

// What is read of an input: a lookup its rows, a movement no more than it writes.
Bytes read_of(const Graph& graph, const Node& node, const Work& work, std::size_t at,
              Bytes written) {
  const Tensor& tensor = graph.tensor(node.inputs[at]);
  if (at == 0 && std::holds_alternative<Lookup>(work)) {
    const auto& lookup = std::get<Lookup>(work);
    return bytes_of(lookup.rows * lookup.row_elements, tensor.type);
  }
  if (at == 0 && std::holds_alternative<Movement>(work)) {
    return std::min(tensor.bytes(), written);
  }
  return bytes_of(elements_read(graph, node, at), tensor.type);
}

}  // namespace

Work work_of(const Graph& graph, const Node& node) {
  const OperatorRule* const rule = find_rule(node.domain, node.op);
  if (rule == nullptr || !node.unknown.empty()) {
    return Other{};
  }
  try {
    return rule->work(Operands(graph, node), rule->flops);
  } catch (const NotKnown&) {
    return Other{};
  }
}

std::uint64_t elements_read(const Graph& graph, const Node& node, std::size_t input) {
  const Tensor& tensor = graph.tensor(node.inputs[input]);
  if (input == 0 && moves_a_window(node) && tensor.shape && node.unknown.empty()) {
    return elements_under_windows(Operands(graph, node));
  }
  constexpr std::size_t lengths = 6;  // of caches that are longer than what they hold
  if (node.domain.empty() && node.op == "Attention" && (input == 1 || input == 2) &&
      node.inputs.size() > lengths) {
    const Work work = work_of(graph, node);
    if (const auto* const attention = std::get_if<Attention>(&work)) {
      const std::uint64_t width = input == 1 ? attention->key_width : attention->value_width;
      return std::min(tensor.elements(),
                      attention->batch * attention->kv_heads * attention->keys * width);
    }
  }
  if (!is_table_of_positions(node, input) || !tensor.shape || tensor.shape->size() != 2 ||
      node.inputs[0] == no_tensor || !graph.tensor(node.inputs[0]).shape) {
    return tensor.elements();
  }
  // [batch, tokens, width] or [batch, heads, tokens, width]
  const Shape& tokens = *graph.tensor(node.inputs[0]).shape;
  if (tokens.size() < 3) {
    return tensor.elements();
  }
  const Shape rows{tokens[0], tokens[tokens.size() - 2], (*tensor.shape)[1]};
  return std::min(tensor.elements(), elements_of(rows));
}

Cost& Cost::operator+=(const Cost& other) {
  matrix = Flops(sum_of(matrix.count(), other.matrix.count()));
  vector = Flops(sum_of(vector.count(), other.vector.count()));
  weights = Bytes(sum_of(weights.count(), other.weights.count()));
  read = Bytes(sum_of(read.count(), other.read.count()));
  written = Bytes(sum_of(written.count(), other.written.count()));
  parameters = sum_of(parameters, other.parameters);
  return *this;
}

bool counts_as_parameter(ElementType type) {
  return type != ElementType::int64 && type != ElementType::boolean && type != ElementType::text &&
         type != ElementType::undefined;
}

Cost cost_of(const Graph& graph, const Node& node) {
  const Work work = work_of(graph, node);
  Cost cost;
  const FlopCount flops = std::visit(Counter(), work);
  cost.matrix = Flops(flops.matrix);
  cost.vector = Flops(flops.vector);
  for (const Epilogue& step : node.epilogue) {
    cost.vector = Flops(sum_of(cost.vector.count(), step.flops));
  }
  if (std::holds_alternative<View>(work)) {
    return cost;
  }
  if (std::holds_alternative<Append>(work)) {
    cost.read = cost.written = graph.tensor(node.inputs[1]).bytes();
    return cost;
  }
  for (const TensorIndex at : node.outputs) {
    cost.written += at == no_tensor ? Bytes() : graph.tensor(at).bytes();
  }
  std::set<TensorIndex> seen;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorIndex at = node.inputs[i];
    if (at == no_tensor || !seen.insert(at).second) {
      continue;
    }
    const Tensor& tensor = graph.tensor(at);
    const Bytes bytes = read_of(graph, node, work, i, cost.written);
    const bool weight = tensor.role == Role::parameter;
    (weight ? cost.weights : cost.read) += bytes;
    if (weight && counts_as_parameter(tensor.type)) {
      cost.parameters = sum_of(cost.parameters, tensor.elements());
    }
  }
  return cost;
}

Cost total_cost(const Graph& graph) {
  Cost total;
  for (const Node& node : graph.nodes) {
    total += cost_of(graph, node);
  }
  // What several nodes read counts once.
  total.parameters = constants_of(graph).parameters;
  return total;
}

ConstantCount constants_of(const Graph& graph) {
  std::set<TensorIndex> seen;
  ConstantCount count;
  for (const Node& node : graph.nodes) {
    for (const TensorIndex at : node.inputs) {
      if (at == no_tensor || graph.tensor(at).role != Role::parameter || !seen.insert(at).second) {
        continue;
      }
      const Tensor& tensor = graph.tensor(at);
      ++count.tensors;
      count.elements = sum_of(count.elements, tensor.elements());
      count.bytes = Bytes(sum_of(count.bytes.count(), tensor.bytes().count()));
      if (counts_as_parameter(tensor.type)) {
        count.parameters = sum_of(count.parameters, tensor.elements());
      }
    }
  }
  return count;
}

}  // namespace tessera::onnx
