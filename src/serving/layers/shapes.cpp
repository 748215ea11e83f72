#include "layers/shapes.hpp"

#include <algorithm>
#include <cmath>

#include "layers/narrow.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::serving {

using npu::vector_work;

std::uint64_t code_of(const SequenceGroup& group) {
  return std::uint64_t{group.sequences - 1} << (query_bits + key_bits) |
         std::uint64_t{group.queries - 1} << key_bits | group.keys;
}

SequenceGroup group_of(std::uint64_t shape) {
  return {static_cast<std::uint32_t>(shape >> (query_bits + key_bits)) + 1,
          (static_cast<std::uint32_t>(shape >> key_bits) & (most_queries - 1)) + 1,
          static_cast<std::uint32_t>(shape) & most_keys};
}

std::uint64_t experts_reached(std::uint64_t count, std::uint64_t top_k, std::uint64_t tokens) {
  const auto all = static_cast<double>(count);
  double passed_over = 1;  // by squares, which every machine rounds alike
  double power = (all - static_cast<double>(top_k)) / all;
  for (std::uint64_t left = tokens; left > 0 && passed_over > 0; left /= 2) {
    passed_over *= left % 2 == 1 ? power : 1;
    power *= power;
  }
  return static_cast<std::uint64_t>(std::llround(all * (1 - passed_over)));
}

LayerShapes::LayerShapes(const LanguageSetup& setup)
    : setup_(setup),
      shape_(setup.shape),
      tensor_(setup.tensor),
      heads_(shape_.heads / tensor_),
      kv_heads_(shape_.latent ? 1 : std::max<std::uint64_t>(1, shape_.kv_heads / tensor_)),
      sources_(shape_) {
  if (shape_.latent && sources_.has(latent_down)) {  // whole in each unit
    cached_ = sources_.products_of(latent_down).back().product.columns;
  } else if (sources_.has(qkv)) {
    const workload::Operator& joined = sources_.products_of(qkv).front();
    cached_ = joined.shard_columns(tensor_) - heads_ * joined.blocks.front().width;
  }
  if (shape_.ssm) {
    state_space_.emplace(setup);
  }
  for (std::uint32_t part = 0; part < part_count; ++part) {
    stored_.at(part) = stored_together(static_cast<Part>(part));
  }
}

// Of products that lie differently each takes its own bytes: any part of the whole has its share of
// them all.
std::optional<npu::StoredWeights> LayerShapes::stored_together(Part part) const {
  const std::vector<workload::Operator>& products = sources_.products_of(part);
  std::optional<npu::StoredWeights> first;
  bool is_mixed = false;
  Wide bytes = 0;
  Wide elements = 0;
  for (const workload::Operator& op : products) {
    const std::optional<npu::StoredWeights> stored = setup_.weights.stored_of(op);
    const workload::MatrixProduct shard = op.shard_product(tensor_);
    const Wide of_op = Wide{shard.columns} * shard.depth * shard.count;
    bytes += stored.value_or(npu::StoredWeights::plain(element())).bytes_of(of_op);
    elements += of_op;
    first = &op == &products.front() ? stored : first;
    is_mixed = is_mixed || stored != first;
  }
  return is_mixed ? npu::StoredWeights(narrow(bytes), narrow(elements)) : first;
}

npu::ProductSpec LayerShapes::product(std::uint64_t rows, const workload::Operator& op,
                                      const workload::MatrixProduct& shard) const {
  npu::ProductSpec spec;
  spec.shape = {rows, shard.columns, shard.depth, 1};
  spec.bias = biases_of(op) > 0;
  return spec;
}

// Tokens of all units go to `top_k` experts each; those that they reach get even shares.
npu::ProductSpec LayerShapes::expert_product(std::uint64_t rows, std::uint64_t columns,
                                             std::uint64_t depth) const {
  const std::uint64_t reached = experts_of(rows);
  npu::ProductSpec spec;
  spec.shape = {quotient_up(rows * shape_.experts->top_k, reached), columns, depth,
                own_experts_of(rows)};
  return spec;
}

npu::ProductSpec LayerShapes::product_of(Part part, std::uint64_t rows) const {
  if (part == absorb || part == value_up) {
    return absorbed(part, rows);
  }
  const std::vector<workload::Operator>& products = sources_.products_of(part);
  workload::MatrixProduct shard = products.front().shard_product(tensor_);
  for (auto joined = products.begin() + 1; joined != products.end(); ++joined) {
    shard.columns += joined->shard_product(tensor_).columns;
  }
  npu::ProductSpec spec = is_of_experts(part) ? expert_product(rows, shard.columns, shard.depth)
                                              : product(rows, products.front(), shard);
  spec.stored = stored_[part];
  spec.then = work_behind(part);
  const bool ends_mixing_or_mlp = part == out || part == ssm_output || part == down;
  spec.residuals = ends_mixing_or_mlp && tensor_ == 1 ? 1 : 0;
  return spec;
}

// On each element of its output.
std::optional<npu::VectorWork> LayerShapes::work_behind(Part part) const {
  if (part == router) {
    return vector_work("exp");
  }
  for (const workload::Operator& op : sources_.others_of(part)) {
    if (op.kernel == workload::Kernel::activation) {
      return vector_work(shape_.mlp == workload::Activation::relu ? "relu" : "gelu");
    }
  }
  return {};
}

std::uint64_t LayerShapes::joined(Part base) const {
  return std::max<std::uint64_t>(1, sources_.products_of(base).front().blocks.size());
}

std::uint64_t LayerShapes::adapter_numbers() const {
  std::uint64_t numbers = 0;
  for (const Part base : {qkv, out, up, down}) {
    const npu::ProductShape shape = product_of(base, 1).shape;
    numbers += setup_.adapter_rank * (joined(base) * shape.depth + shape.columns);
  }
  return numbers;
}

// As DeepSeek serves it (DeepSeek-V2, arXiv:2405.04434, section 2.1.2: the products that make keys
// and values are absorbed into those of queries and outputs).
npu::ProductSpec LayerShapes::absorbed(Part part, std::uint64_t rows) const {
  const workload::Operator& product = sources_.products_of(part).front();
  const workload::ColumnBlock& keys = product.blocks.front();
  const workload::ColumnBlock& values = product.blocks.back();
  const std::uint64_t rank = product.product.depth;
  npu::ProductSpec spec;
  spec.shape = part == absorb ? npu::ProductShape{rows, rank, keys.width, heads_}
                              : npu::ProductShape{rows, values.width, rank, heads_};
  spec.stored = stored_[part];
  return spec;
}

npu::StreamSpec LayerShapes::norm(std::uint64_t rows, Part part, bool skip) const {
  const std::vector<workload::Operator>& norms = sources_.others_of(part);
  std::uint64_t columns = 0;
  std::uint64_t parameters = 0;
  for (const workload::Operator& op : norms) {
    columns += op.output_elements;
    parameters += op.parameters;
  }
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = columns;
  spec.work = vector_work(norms.front().kind);
  spec.inputs.push_back({"input", 0, columns, 1, 1, false});
  if (skip) {
    spec.inputs.push_back({"skip", 0, columns, 1, 1, false});
    spec.work = spec.work + vector_work("add");
  }
  spec.inputs.push_back({"gain", 0, columns, 1, 1, true});
  if (parameters > columns) {
    spec.inputs.push_back({"bias", 0, columns, 1, 1, true});
  }
  return spec;
}

// Of the queries and keys of the unit's heads, which share two gains.
npu::StreamSpec LayerShapes::head_norms(std::uint64_t rows) const {
  const std::vector<workload::Operator>& norms = sources_.others_of(query_key_norm);
  std::uint64_t parameters = 0;
  for (const workload::Operator& op : norms) {
    parameters += op.parameters;
  }
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = (heads_ + kv_heads_) * shape_.head_width;
  spec.work = vector_work(norms.front().kind);
  spec.inputs = {{"input", 0, spec.columns, 1, 1, false},
                 {"gains", 0, spec.columns, parameters, spec.columns, true}};
  return spec;
}

// Half of the columns of the product before it times what the function makes of the others.
npu::StreamSpec LayerShapes::gate_of(std::uint64_t rows, Part product) const {
  const std::uint64_t columns = sources_.products_of(product).front().shard_columns(tensor_) / 2;
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = columns;
  spec.inputs = {{"gate", 0, columns, 1, 1, false}, {"up", 0, columns, 1, 1, false}};
  spec.work = vector_work("silu") + vector_work("mul");
  return spec;
}

// Of queries and keys what has the position.
npu::StreamSpec LayerShapes::turned(std::uint64_t rows) const {
  const std::uint64_t width = shape_.latent ? shape_.latent->rope_width : shape_.head_width;
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = (heads_ + kv_heads_) * width;
  spec.inputs = {{"turned", 0, spec.columns, 1, 1, false}};
  spec.work = vector_work("add") + vector_work("mul") + vector_work("mul");
  return spec;
}

// Rows of the tables, as these lie in memory.
npu::StreamSpec LayerShapes::looked_up(std::uint64_t rows) const {
  const std::vector<workload::Operator>& tables = sources_.others_of(embedding);
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = shape_.hidden;
  spec.inputs = {
      {"table", 0, shape_.hidden, 1, 1, false, setup_.weights.stored_of(tables.front())}};
  spec.work = vector_work("copy");
  if (shape_.positions == workload::Positions::learned) {
    spec.inputs.push_back(
        {"positions", 0, shape_.hidden, 1, 1, false, setup_.weights.stored_of(tables[1])});
    spec.work = vector_work("add");
  }
  return spec;
}

npu::StreamSpec LayerShapes::stream_of(Part part, std::uint64_t rows) const {
  npu::StreamSpec spec;
  switch (part) {
    case norm_in:
    case norm_mid:
    case last_norm:
      return norm(rows, part, tensor_ > 1 || (part == norm_in && shape_.experts));
    case latent_norm:
      return norm(rows, part, false);
    case query_key_norm:
      return head_norms(rows);
    case gate:
      return gate_of(rows, up);
    case expert_gate:
      return gate_of(
          quotient_up(rows * shape_.experts->top_k, experts_of(rows)) * own_experts_of(rows),
          expert_up);
    case shared_gate:
      return gate_of(rows, shared_up);
    case rotary:
      return turned(rows);
    case embedding:
      return looked_up(rows);
    default:  // probabilities of the next token; one of them is taken
      spec.rows = rows;
      spec.columns = quotient_up(shape_.vocabulary, tensor_);
      spec.inputs = {{"logits", 0, spec.columns, 1, 1, false}};
      spec.work = vector_work("softmax");
      spec.stored_per = 1;
      spec.stored_of = spec.columns;
      return spec;
  }
}

npu::AttentionSpec LayerShapes::attention_of(const SequenceGroup& group) const {
  npu::AttentionSpec spec;
  spec.batch = group.sequences;
  spec.heads = heads_;
  spec.kv_heads = kv_heads_;
  spec.queries = group.queries;
  spec.keys = quotient_up(group.keys, setup_.block) * setup_.block;
  spec.width = shape_.head_width;
  spec.value_width = shape_.head_width;
  spec.append = group.queries;
  spec.stored_keys = setup_.stored_keys;
  spec.stored_values = setup_.stored_values;
  return spec;
}

SequenceGroup LayerShapes::in_window(const SequenceGroup& group) const {
  const std::uint64_t seen =
      quotient_up(shape_.window + group.queries - 1, setup_.block) * setup_.block;
  return {group.sequences, group.queries,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(group.keys, seen))};
}

}  // namespace tessera::serving
