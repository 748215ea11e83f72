#include "operators.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::workload {
namespace {

// Forward: mean 1, centre 1, variance 2, divide by the deviation 1, gain 1, shift 1. Backward:
// normalised input again 2, gradients of gain and shift 3, of the input 8 (two means over the row).
constexpr VectorCost layer_norm_cost{7, 13, 3};
// Forward: mean square 2, divide by its root 1, gain 1 (Zhang, Sennrich, arXiv:1910.07467, equation
// (4)). Backward: normalised input again 1, gradient of the gain 2, of the input 6 (one mean).
constexpr VectorCost rms_norm_cost{4, 9, 2};
// Dropout takes 2 in either direction: mask, rescale.
constexpr std::uint64_t dropout_flops = 2;
// Maximum 1, subtract 1, exponential 1, sum 1, divide 1. Backward: inner product with the gradient
// 2, subtract 1, multiply 1.
constexpr VectorCost softmax_cost{5, 4, 0};
// Of attention also scale 1 and mask 1; backward scale 1.
constexpr VectorCost attention_softmax_cost{7, 5, 0};
// The same one by one: the softmax itself is `softmax_cost`.
constexpr VectorCost scale_cost{1, 1, 0};
constexpr VectorCost mask_cost{1, 1, 0};
// x/2 (1 + tanh(k x (1 + c x^2))), backward with the tanh computed again (Hendrycks, Gimpel,
// arXiv:1606.08415).
constexpr VectorCost gelu_cost{9, 18, 0};
constexpr VectorCost relu_cost{1, 1, 0};
// x / (1 + e^-x) 4, times the gate's partner 1 (Shazeer, arXiv:2002.05202). Backward: the sigmoid
// again 4, gradient of the partner 2, of the gate 6.
constexpr VectorCost swiglu_cost{5, 12, 0};
constexpr VectorCost sum_cost{1, 1, 0};
// Looked up without arithmetic; the gradient is added to the row of the token.
constexpr VectorCost embedding_cost{0, 1, 1};

constexpr std::uint64_t statistic_bytes = 4;  // flash attention keeps its row statistics in fp32

VectorCost cost_of(Norm norm) {
  return norm == Norm::rms ? rms_norm_cost : layer_norm_cost;
}

VectorCost cost_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return gelu_cost;
    case Activation::relu:
      return relu_cost;
    case Activation::swiglu:
      return swiglu_cost;
  }
  throw InternalError("an activation outside its enumeration");
}

VectorCost with_dropout(VectorCost cost, bool dropout) {
  const std::uint64_t more = dropout ? dropout_flops : 0;
  return {cost.forward + more, cost.backward + more, cost.weight_gradient};
}

}  // namespace

std::string to_string(Norm norm) {
  switch (norm) {
    case Norm::layer:
      return "layer_norm";
    case Norm::rms:
      return "rms_norm";
    case Norm::batch:
      return "batch_norm";
  }
  throw InternalError("a norm outside its enumeration");
}

std::string to_string(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::relu:
      return "relu";
    case Activation::swiglu:
      return "swiglu";
  }
  throw InternalError("an activation outside its enumeration");
}

void keep(Operator& op, Bytes bytes) {
  (op.sharding == Sharding::replicated ? op.stored_whole : op.stored_cut) += bytes;
}

Operator OperatorMaker::vector(std::string name, std::string kind, Sharding sharding,
                               VectorCost cost, std::uint64_t inputs, std::uint64_t outputs) const {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.sharding = sharding;
  op.forward_flops = Flops(cost.forward * outputs);
  op.backward_flops = Flops(cost.backward * outputs);
  op.weight_gradient_flops = Flops(cost.weight_gradient * outputs);
  op.input_elements = inputs;
  op.output_elements = outputs;
  return op;
}

Operator OperatorMaker::product(std::string name, std::string kind, Sharding sharding,
                                MatrixProduct product) const {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.sharding = sharding;
  op.product = product;
  op.forward_flops = product.flops();
  op.backward_flops = product.flops() + product.flops();
  op.output_elements = product.rows * product.columns * product.count;
  return op;
}

Operator OperatorMaker::linear(std::string name, Sharding sharding, std::uint64_t rows,
                               std::uint64_t inputs, std::uint64_t outputs, bool bias) const {
  Operator op = product(std::move(name), "linear", sharding, {rows, outputs, inputs, 1});
  op.weight_gradient_flops = op.forward_flops;
  op.parameters = inputs * outputs + (bias ? outputs : 0);
  op.input_elements = rows * inputs;
  (sharding == Sharding::row ? op.stored_cut : op.stored_whole) = bytes(op.input_elements);
  if (sharding == Sharding::column) {
    op.backward_all_reduce_elements = op.input_elements;
  } else if (sharding == Sharding::row) {
    op.replicated_parameters = bias ? outputs : 0;
    op.forward_all_reduce_elements = op.output_elements;
  }
  return op;
}

Operator OperatorMaker::norm(std::string name, Norm norm, Sharding sharding, std::uint64_t elements,
                             std::uint64_t features) const {
  Operator op =
      vector(std::move(name), to_string(norm), sharding, cost_of(norm), elements, elements);
  op.kernel = Kernel::norm;
  op.parameters = (norm == Norm::rms ? 1 : 2) * features;
  keep(op, bytes(elements));
  return op;
}

Operator OperatorMaker::activation(std::string name, Activation activation, Sharding sharding,
                                   std::uint64_t outputs) const {
  const std::uint64_t inputs = (activation == Activation::swiglu ? 2 : 1) * outputs;
  Operator op =
      vector(std::move(name), "elementwise", sharding, cost_of(activation), inputs, outputs);
  op.kernel = Kernel::activation;
  keep(op, activation == Activation::relu ? Bytes(outputs) : bytes(inputs));
  return op;
}

Operator OperatorMaker::embedding(std::string name, Sharding sharding, std::uint64_t rows,
                                  std::uint64_t tokens, std::uint64_t width) const {
  Operator op =
      vector(std::move(name), "embedding", sharding, embedding_cost, tokens, tokens * width);
  op.kernel = Kernel::lookup;
  op.parameters = rows * width;
  if (sharding == Sharding::row) {
    op.forward_all_reduce_elements = op.output_elements;
  }
  return op;
}

Operator OperatorMaker::softmax(std::string name, Sharding sharding, std::uint64_t elements) const {
  Operator op = vector(std::move(name), "softmax", sharding, softmax_cost, elements, elements);
  keep(op, bytes(elements));
  return op;
}

Operator OperatorMaker::attention_softmax(std::string name, Sharding sharding,
                                          std::uint64_t weights) const {
  Operator op =
      vector(std::move(name), "softmax", sharding, attention_softmax_cost, weights, weights);
  if (dropout_) {  // else the weights are what the next product keeps
    keep(op, bytes(weights));
  }
  return op;
}

std::vector<Operator> OperatorMaker::eager_softmax(const std::string& prefix, Sharding sharding,
                                                   std::uint64_t weights) const {
  const std::uint64_t narrow = element_size(type_).count();
  const std::uint64_t wide = std::max<std::uint64_t>(narrow, element_size(DataType::fp32).count());
  std::vector<Operator> operators;
  // `forward`, `backward`: bytes an element that the kernel moves. Backward only the softmax reads
  // what it gave beside its gradient; three passes in `type_` are counted already, or two.
  const auto add = [&](const std::string& name, const std::string& kind, VectorCost cost,
                       std::uint64_t forward, std::uint64_t backward) {
    Operator op = vector(prefix + name, kind, sharding, cost, weights, weights);
    op.more_moved_forward = Bytes(weights * (forward - 2 * narrow));
    op.ignores_inputs_backward = backward < 3 * narrow;
    const std::uint64_t counted = (op.ignores_inputs_backward ? 2 : 3) * narrow;
    op.more_moved_backward = Bytes(weights * (backward - counted));
    // Its input and output, and their gradients, are that much wider than those of `type_`.
    op.passing_forward = op.passing_backward = op.more_moved_forward;
    if (kind == "elementwise") {
      op.kernel = Kernel::sum;
    }
    operators.push_back(std::move(op));
  };
  const bool casts = wide > narrow;
  if (casts) {
    add("scores_cast", "elementwise", {}, narrow + wide, narrow + wide);
  }
  add("scores_scale", "elementwise", scale_cost, 2 * wide, 2 * wide);
  add("scores_mask", "elementwise", mask_cost, 2 * wide, 2 * wide);
  add("softmax", "softmax", softmax_cost, 2 * wide, 3 * wide);
  if (casts || dropout_) {  // else its output is what the next product keeps
    keep(operators.back(), Bytes(wide * weights));
  }
  if (casts) {
    add("weights_cast", "elementwise", {}, narrow + wide, narrow + wide);
  }
  return operators;
}

Operator OperatorMaker::flash_attention(const std::string& name, Sharding sharding,
                                        const AttentionShape& shape) const {
  // Scores and values in one: a tile of queries goes through the keys twice, multiplying. Where
  // these are of different widths, the mean.
  const std::uint64_t pairs = shape.heads * shape.twice_pairs();
  const std::uint64_t width = shape.head_width;
  const std::uint64_t values = shape.values();
  Operator op = product(name, "attention", sharding,
                        {shape.queries, (width + values + 1) / 2,
                         (shape.twice_pairs() + shape.queries - 1) / shape.queries, shape.heads});
  op.kernel = Kernel::fused_attention;
  op.forward_flops = Flops((width + values) * pairs);
  // Scores again, gradients of weights and of values, of queries and of keys.
  op.backward_flops = Flops((3 * width + 2 * values) * pairs);
  op.input_elements = shape.query_elements() + shape.key_elements() + shape.value_elements();
  op.output_elements = shape.queries * shape.heads * values;
  op.context_elements = shape.key_elements() + shape.value_elements();
  op.kv_heads = shape.kv_heads;
  keep(op, Bytes(statistic_bytes * shape.heads * shape.queries));
  return op;
}

std::vector<Operator> OperatorMaker::attention(const std::string& prefix, Sharding sharding,
                                               const AttentionShape& shape) const {
  if (shape.kind == AttentionKind::flash) {
    return {flash_attention(prefix + "attention", sharding, shape)};
  }
  const std::uint64_t weights = shape.heads * shape.queries * shape.keys;
  Operator scores = product(prefix + "attention_scores", "attention", sharding,
                            {shape.queries, shape.keys, shape.head_width, shape.heads});
  scores.input_elements = shape.query_elements() + shape.key_elements();
  scores.context_elements = shape.key_elements() + shape.value_elements();
  scores.kv_heads = shape.kv_heads;
  Operator values = product(prefix + "attention_values", "attention", sharding,
                            {shape.queries, shape.values(), shape.keys, shape.heads});
  values.input_elements = weights + shape.value_elements();
  keep(values, bytes(weights));
  std::vector<Operator> operators{std::move(scores)};
  if (shape.kind == AttentionKind::eager) {
    std::ranges::move(eager_softmax(prefix, sharding, weights), std::back_inserter(operators));
  } else {
    operators.push_back(attention_softmax(prefix + "softmax", sharding, weights));
  }
  if (dropout_) {
    operators.push_back(dropout(prefix + "attention_dropout", sharding, weights));
  }
  operators.push_back(std::move(values));
  for (Operator& op : operators) {
    op.recomputed_selectively = true;
  }
  return operators;
}

Operator OperatorMaker::skip(std::string name, std::uint64_t elements) const {
  Operator op = vector(std::move(name), "elementwise", Sharding::replicated,
                       with_dropout(sum_cost, dropout_), 2 * elements, elements);
  op.kernel = Kernel::sum;
  op.stored_whole = dropout_mask(elements);
  op.additive = true;
  return op;
}

Operator OperatorMaker::dropout(std::string name, Sharding sharding, std::uint64_t elements) const {
  Operator op = vector(std::move(name), "elementwise", sharding, with_dropout({}, dropout_),
                       elements, elements);
  keep(op, dropout_mask(elements));
  op.kernel = Kernel::sum;
  op.additive = true;
  return op;
}

}  // namespace tessera::workload
