#include "tessera/plan/sharder.hpp"

#include <algorithm>
#include <string_view>

#include "tessera/core/wide.hpp"

namespace tessera::plan {
namespace {

using workload::MatrixProduct;
using workload::Operation;
using workload::Operator;
using workload::Sharding;

// `*` stands for any text.
bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) {
    return text.empty();
  }
  if (pattern.front() == '*') {
    return fits(pattern.substr(1), text) || (!text.empty() && fits(pattern, text.substr(1)));
  }
  return !text.empty() && pattern.front() == text.front() &&
         fits(pattern.substr(1), text.substr(1));
}

// Tensors of equal size that its parameters are: of a layer norm, weights and biases.
std::uint32_t tensors_alike(const Operator& op) {
  return op.kernel == workload::Kernel::norm && op.kind != "rms_norm" ? 2 : 1;
}

// Of an operator's product forward, see Operation.
std::uint64_t twice_keys(const Operator& op, const MatrixProduct& forward) {
  return op.kernel == workload::Kernel::fused_attention ? forward.depth : 0;
}

// Gradients of what was looked up are added to rows of the table, by another kernel.
workload::Kernel backward_kernel(const Operator& op) {
  return op.kernel == workload::Kernel::lookup ? workload::Kernel::plain : op.kernel;
}

// What an operator has of weights, in elements or in bytes.
Sharder::Weights weights_of(const Operator& op) {
  return {op.parameters, op.replicated_parameters, op.shared_parameters};
}
Sharder::Weights in_bytes(const workload::WeightBytes& weights) {
  return {weights.parameters.count(), weights.replicated.count(), weights.shared.count()};
}

}  // namespace

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

LayerBytes& LayerBytes::operator+=(const LayerBytes& other) {
  weights += other.weights;
  used_weights += other.used_weights;
  weights_read += other.weights_read;
  gradients += other.gradients;
  optimizer += other.optimizer;
  updated_weights += other.updated_weights;
  updated_gradients += other.updated_gradients;
  stored += other.stored;
  dense_gradients += other.dense_gradients;
  expert_gradients += other.expert_gradients;
  whole_gradients += other.whole_gradients;
  sent_weights += other.sent_weights;
  sent_expert_weights += other.sent_expert_weights;
  sent_gradients += other.sent_gradients;
  sent_expert_gradients += other.sent_expert_gradients;
  return *this;
}

std::string Sharder::path_of(const Operator& op) const {
  for (const workload::Layer& layer : workload_.layers) {
    for (const Operator& candidate : layer.operators) {
      if (&candidate == &op) {
        return layer.name + "/" + op.name;
      }
    }
  }
  return op.name;
}

bool ShardingRule::matches(const std::string& path, const Operator& op) const {
  return with_layer() ? fits(pattern, path) : fits(pattern, op.name) || fits(pattern, op.kind);
}

const OperatorSharding* Sharder::explicit_sharding(const Operator& op) const {
  for (const ShardingRule& rule : strategy_.shardings) {
    if (rule.matches(rule.with_layer() ? path_of(op) : "", op)) {
      return &rule.sharding;
    }
  }
  return nullptr;
}

Sharder::Shares Sharder::shares(const Operator& op) const {
  Shares shares;
  if (const OperatorSharding* sharding = explicit_sharding(op)) {
    shares = {sharding->samples, sharding->rows, sharding->columns, sharding->depth, 1};
  } else {
    const std::uint64_t tensor = strategy_.degrees.tensor;
    switch (op.sharding) {
      case Sharding::column:
        shares.columns = tensor;
        break;
      case Sharding::row:
        shares.depth = tensor;
        break;
      case Sharding::heads:
        shares.heads = tensor;
        break;
      case Sharding::replicated:
        shares.rows = strategy_.sequence_parallel ? tensor : 1;
        break;
    }
  }
  shares.rows *= strategy_.context;
  return shares;
}

MatrixProduct Sharder::cut_product(const Operator& op) const {
  const Shares cut = shares(op);
  MatrixProduct product = op.product;
  // Samples share weights, which makes one product of more rows; without weights each has its own.
  const bool weights = op.parameters + op.shared_parameters > 0;
  (weights ? product.rows : product.count) *= strategy_.micro_batch;
  product.rows = divided_up(product.rows, (weights ? cut.samples : 1) * cut.rows);
  product.count = divided_up(product.count, (weights ? 1 : cut.samples) * cut.heads);
  product.columns = divided_up(product.columns, cut.columns);
  product.depth = divided_up(product.depth, cut.depth);
  return product;
}

Flops Sharder::share_of(Flops flops, const Operator& op) const {
  return Flops(divided_up(flops.count() * strategy_.micro_batch, shares(op).all()));
}

Bytes Sharder::share_of(Bytes bytes, const Operator& op) const {
  return Bytes(divided_up(bytes.count() * strategy_.micro_batch, shares(op).all()));
}

// With its type and class; where inputs are cast before they are multiplied, a kernel of its own
// reads `cast` elements and writes them narrow, as they are and, where there is a backward pass,
// transposed for its other product (Micikevicius et al., arXiv:2209.05433; Transformer Engine's
// cast-transpose).
Operation Sharder::operation_of(const Operator& op, std::uint64_t cast) const {
  Operation operation;
  operation.data_type =
      op.own_type.value_or(op.narrow ? workload_.product_type : workload_.data_type);
  operation.kernel = op.kernel;
  if (op.narrow && operation.data_type != workload_.data_type) {
    operation.added = element_size(workload_.data_type) * cast +
                      workload_.product_format.bytes_of(cast) * (workload_.training ? 2 : 1);
  }
  return operation;
}

Operation Sharder::forward(const Operator& op) const {
  Operation operation = operation_of(op, elements(op).inputs);
  operation.flops = share_of(op.forward_flops, op);
  operation.bytes = moved(op) + share_of(op.more_moved_forward, op);
  if (op.is_matrix_product()) {
    operation.product = cut_product(op);
    operation.twice_keys = twice_keys(op, operation.product);
    operation.stored_weights = op.weight_bytes ? std::optional(read_weights(op)) : std::nullopt;
  }
  operation.elements = divided_up(op.fused_elements * strategy_.micro_batch, shares(op).all());
  return operation;
}

Operation Sharder::input_gradient(const Operator& op) const {
  const bool apart = op.weight_gradient_flops > Flops(0);
  Operation operation = operation_of(op, elements(op).outputs);
  operation.kernel = backward_kernel(op);
  operation.flops =
      share_of(Flops(op.backward_flops.count() - op.weight_gradient_flops.count()), op);
  if (op.is_matrix_product()) {
    operation.bytes = apart ? moved(op) : moved(op) * 2;
  } else {
    // Reads the gradient of the output and mostly the input, writes the input's gradient.
    const Operands all = operands(op);
    operation.bytes = all.weights + all.inputs * (op.ignores_inputs_backward ? 1 : 2) +
                      all.outputs + share_of(op.more_moved_backward, op);
  }
  if (op.is_matrix_product()) {
    // Output gradient times the other factor, for each factor that is no weight.
    const MatrixProduct product = cut_product(op);
    operation.product = {product.rows, product.depth, product.columns,
                         apart ? product.count : product.count * 2};
    operation.twice_keys = twice_keys(op, product);
  }
  return operation;
}

Operation Sharder::weight_gradient(const Operator& op) const {
  Operation operation = operation_of(op, 0);
  operation.kernel = backward_kernel(op);
  if (op.weight_gradient_flops == Flops(0)) {
    return operation;
  }
  operation.flops = share_of(op.weight_gradient_flops, op);
  operation.bytes = moved(op);
  // The new gradient is read, the sum so far read and written (Megatron-LM's main_grad).
  operation.added +=
      (element_size(workload_.data_type) + workload_.gradient_bytes_per_parameter * 2) *
      used(op, weights_of(op));
  if (op.is_matrix_product()) {
    const MatrixProduct product = cut_product(op);
    operation.product = {product.depth, product.columns, product.rows, product.count};
  }
  return operation;
}

bool Sharder::recomputes(const Operator& op) const {
  switch (strategy_.recompute) {
    case Recompute::none:
      return false;
    case Recompute::selective:
      return op.recomputed_selectively;
    case Recompute::full:
      return op.recomputed_fully;
    case Recompute::alternate:
      return op.recomputed_fully && (op.kept_results == 0 || op.kept_results < op.output_elements);
  }
  return false;
}

bool Sharder::computes_again(const Operator& op) const {
  const bool stops = strategy_.software.stops_early && strategy_.recompute == Recompute::full;
  return recomputes(op) && (op.needed_again || !stops);
}

// Of a product some of whose columns are kept, the others.
Operation Sharder::forward_again(const Operator& op) const {
  Operation operation = forward(op);
  if (strategy_.recompute != Recompute::alternate || op.kept_results == 0) {
    return operation;
  }
  const auto rest = [&](std::uint64_t whole) {
    const Wide kept = Wide{whole} * op.kept_results / op.output_elements;
    return whole - static_cast<std::uint64_t>(kept);
  };
  operation.product.columns = rest(operation.product.columns);
  operation.flops = Flops(rest(operation.flops.count()));
  operation.bytes = Bytes(rest(operation.bytes.count()));
  return operation;
}

Bytes Sharder::kept_results(const Operator& op) const {
  const bool is_dropped = strategy_.software.compiled && !op.output_is_read;
  if (strategy_.recompute != Recompute::alternate || !op.recomputed_fully || is_dropped) {
    return {};
  }
  return element_size(workload_.data_type) *
         divided_up(op.kept_results * strategy_.micro_batch, shares(op).output());
}

// What stays of an operator from forward to backward.
Bytes Sharder::kept(const Operator& op) const {
  if (strategy_.recompute != Recompute::alternate || !op.recomputed_fully) {
    return recomputes(op) ? Bytes() : stored(op);
  }
  // Inputs of products come from results that are kept, or are computed again.
  const bool with_own = !recomputes(op) && op.parameters == 0;
  return kept_results(op) + (with_own ? stored(op) - repeated_keys(op) : Bytes());
}

Bytes Sharder::tensor_bytes(std::uint64_t elements) const {
  return element_size(workload_.data_type) *
         divided_up(elements * strategy_.micro_batch, strategy_.context);
}

Bytes Sharder::whole_bytes(std::uint64_t elements) const {
  const std::uint64_t shards = strategy_.sequence_parallel ? strategy_.degrees.tensor : 1;
  return element_size(workload_.data_type) *
         divided_up(elements * strategy_.micro_batch, strategy_.context * shards);
}

Bytes Sharder::sent(const std::optional<DataType>& type, std::uint64_t elements) const {
  return type ? workload_.sent_format(*type).bytes_of(elements)
              : element_size(workload_.data_type) * elements;
}

Bytes Sharder::exchanged(const Operator& op, bool to_experts) const {
  const std::uint64_t shards = strategy_.sequence_parallel ? strategy_.degrees.tensor : 1;
  return sent(to_experts ? strategy_.wires.dispatch : strategy_.wires.combine,
              divided_up(op.exchange_elements * strategy_.micro_batch, strategy_.context * shards));
}

Bytes Sharder::gathered_tokens(std::uint64_t elements) const {
  return sent(strategy_.wires.tensor_gathers,
              divided_up(elements * strategy_.micro_batch, strategy_.context));
}

Bytes Sharder::partial_sums(std::uint64_t elements) const {
  return sent(strategy_.wires.tensor_sums,
              divided_up(elements * strategy_.micro_batch, strategy_.context));
}

Bytes Sharder::sent_weights(const Operator& op) const {
  const std::optional<DataType>& type = strategy_.wires.weights;
  return type ? workload_.sent_weights_format(*type).bytes_of(tile_parameters(op))
              : held_weights(op);
}

Bytes Sharder::sent_gradients(const Operator& op) const {
  const std::optional<DataType>& type = strategy_.wires.gradients;
  return type ? workload_.sent_weights_format(*type).bytes_of(tile_parameters(op))
              : workload_.gradient_bytes_per_parameter * tile_parameters(op);
}

std::uint64_t Sharder::used(const Operator& op, const Weights& weights) const {
  const std::uint64_t experts = op.experts > 0 ? strategy_.expert : 1;
  const std::uint64_t cut = shares(op).weights() * experts;
  return divided_up(weights.shared, cut) + divided_up(weights.replicated, experts) +
         divided_up(weights.own - weights.replicated, cut);
}

// Weights shared with an operator of another stage are held twice. Where layers lie in a V, the
// last one may be beside the first.
bool Sharder::is_copied(const Operator& op) const {
  const auto& last = workload_.layers.back().operators;
  const bool beside_first =
      strategy_.last_stage() == 0 &&
      std::any_of(last.begin(), last.end(), [&](const Operator& of) { return &of == &op; });
  return strategy_.degrees.pipeline > 1 && !beside_first;
}

std::uint64_t Sharder::held(const Operator& op, const Weights& weights) const {
  const std::uint64_t all = used(op, weights);
  if (weights.shared == 0 || is_copied(op)) {
    return all;
  }
  return all - divided_up(weights.shared, shares(op).weights());
}

std::uint64_t Sharder::tile_parameters(const Operator& op) const {
  return held(op, weights_of(op));
}

Bytes Sharder::held_weights(const Operator& op) const {
  return op.weight_bytes ? Bytes(held(op, in_bytes(*op.weight_bytes)))
                         : element_size(workload_.data_type) * tile_parameters(op);
}

bool Sharder::is_shared_out(const Operator& op) const {
  return strategy_.gather == GatherUnit::layer ||
         tile_parameters(op) >= strategy_.keep_below * tensors_alike(op);
}

std::uint32_t Sharder::kept_tensors(const Operator& op) const {
  const std::uint64_t parameters = tile_parameters(op);
  const std::uint64_t weights = op.product.columns * op.product.depth * op.product.count;
  const std::uint32_t alike = tensors_alike(op);
  if (parameters < strategy_.keep_below * alike) {
    return parameters > 0 ? alike : 0;
  }
  const bool bias = weights > 0 && op.parameters > weights;
  const std::uint64_t columns = divided_up(op.product.columns, shares(op).columns);
  return bias && columns < strategy_.keep_below ? 1 : 0;
}

// A look-up touches the rows of its tokens only.
Bytes Sharder::read_weights(const Operator& op) const {
  const Bytes all = op.weight_bytes ? Bytes(used(op, in_bytes(*op.weight_bytes)))
                                    : element_size(workload_.data_type) * used(op, weights_of(op));
  if (op.kind == "embedding") {
    return std::min(all, tensor_bytes(op.output_elements));
  }
  const std::uint64_t looked_up =
      std::min(op.table_parameters, op.looked_up_elements * strategy_.micro_batch);
  return all - element_size(workload_.data_type) * (op.table_parameters - looked_up);
}

Sharder::Elements Sharder::elements(const Operator& op) const {
  const Shares cut = shares(op);
  const std::uint64_t batch = strategy_.micro_batch;
  return {divided_up(op.input_elements * batch, cut.input()),
          divided_up(op.output_elements * batch, cut.output())};
}

Operands Sharder::operands(const Operator& op) const {
  const Bytes element = element_size(workload_.data_type);
  const Elements moved = elements(op);
  Operands operands;
  operands.weights = read_weights(op);
  operands.inputs = element * moved.inputs;
  operands.outputs = element * moved.outputs;
  operands.gradients = workload_.gradient_bytes_per_parameter * used(op, weights_of(op));
  return operands;
}

// Weights once, inputs and outputs of the micro-batch.
Bytes Sharder::moved(const Operator& op) const {
  const Operands all = operands(op);
  return all.weights + all.inputs + all.outputs;
}

Bytes Sharder::stored(const Operator& op) const {
  const std::uint64_t batch = strategy_.micro_batch;
  std::uint64_t cut = shares(op).all();
  std::uint64_t whole = strategy_.context;
  if (const OperatorSharding* rule = explicit_sharding(op)) {
    whole *= std::uint64_t{rule->samples} * rule->rows;
  } else if (op.sharding == Sharding::replicated) {
    whole = cut;
  } else if (strategy_.sequence_parallel &&
             !(strategy_.software.keeps_gathered_inputs && op.sharding == Sharding::column)) {
    whole *= strategy_.degrees.tensor;
  }
  Bytes stored_whole = op.stored_whole;
  Bytes stored_cut = op.stored_cut;
  if (strategy_.software.keeps_narrow_inputs && op.narrow) {
    Bytes& inputs = op.sharding == Sharding::row ? stored_cut : stored_whole;
    const Bytes wide = element_size(workload_.data_type) * op.input_elements;
    const Bytes narrow = std::min(wide, workload_.product_format.bytes_of(op.input_elements));
    inputs = inputs - std::min(inputs, wide - narrow);
  }
  return Bytes(divided_up(stored_whole.count() * batch, whole)) +
         Bytes(divided_up(stored_cut.count() * batch, cut)) + repeated_keys(op);
}

Bytes Sharder::tied_gradients() const {
  std::uint64_t parameters = 0;
  for (const workload::Layer& layer : workload_.layers) {
    for (const Operator& op : layer.operators) {
      parameters = std::max(parameters, divided_up(op.shared_parameters, shares(op).weights()));
    }
  }
  const Bytes gradients = workload_.gradient_bytes_per_parameter * parameters;
  return Bytes(divided_up(gradients.count(), strategy_.zero >= 1 ? strategy_.sharing() : 1));
}

Update update_of(const workload::Workload& workload, Bytes optimizer, Bytes updated_weights,
                 Bytes updated_gradients) {
  Update update;
  update.written = optimizer + updated_weights;
  update.read = update.written + updated_gradients;
  update.operation.data_type = workload.data_type;
  update.operation.kernel = workload::Kernel::sum;
  update.operation.bytes = update.read + update.written;
  if (workload.update_bytes_per_parameter > Bytes(0)) {
    const std::uint64_t parameters =
        divided_up(updated_weights.count(), element_size(workload.data_type).count());
    update.operation.bytes = workload.update_bytes_per_parameter * parameters;
  }
  return update;
}

LayerBytes Sharder::bytes_of(const workload::Layer& layer) const {
  LayerBytes bytes;
  for (const Operator& op : layer.operators) {
    const std::uint64_t parameters = tile_parameters(op);
    const Bytes weights = held_weights(op);
    const bool apart = goes_with_experts(op);
    const std::uint64_t replicas =
        apart ? strategy_.degrees.data / strategy_.expert : strategy_.sharing();
    const auto share = [&](Bytes whole, std::uint32_t from_stage) {
      return Bytes(divided_up(whole.count(), strategy_.zero >= from_stage ? replicas : 1));
    };
    const Bytes gradients = workload_.gradient_bytes_per_parameter * parameters;
    const bool from_master =
        strategy_.has_units() && strategy_.zero == 3 && workload_.training && workload_.has_master;
    bytes.weights += from_master ? Bytes() : is_shared_out(op) ? share(weights, 3) : weights;
    bytes.used_weights += weights;
    bytes.weights_read += read_weights(op);
    bytes.gradients += share(gradients, 2);
    if (strategy_.software.is_fsdp2() && strategy_.zero == 1 && replicas > 1) {
      bytes.gradients += share(gradients, 1);  // beside those that are summed up whole
    }
    bytes.optimizer += share(workload_.optimizer_bytes_per_parameter * parameters, 1);
    bytes.updated_weights += share(weights, 1);
    bytes.updated_gradients += share(gradients, 1);
    (apart ? bytes.expert_gradients : bytes.dense_gradients) += gradients;
    (apart ? bytes.sent_expert_weights : bytes.sent_weights) += sent_weights(op);
    (apart ? bytes.sent_expert_gradients : bytes.sent_gradients) += sent_gradients(op);
    if (op.sharding == Sharding::replicated && strategy_.sequence_parallel) {
      bytes.whole_gradients += gradients;
    }
    bytes.stored += kept(op);
  }
  if (!workload_.training) {
    bytes.gradients = bytes.optimizer = bytes.stored = Bytes(0);
    bytes.dense_gradients = bytes.expert_gradients = bytes.whole_gradients = Bytes(0);
    bytes.sent_gradients = bytes.sent_expert_gradients = Bytes(0);
  } else if (strategy_.recompute == Recompute::full ||
             strategy_.recompute == Recompute::alternate) {
    bytes.stored += whole_bytes(layer.boundary_elements);
  }
  return bytes;
}

}  // namespace tessera::plan
