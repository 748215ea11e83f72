#include "tessera/serving/language_model.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/core/quotient.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::serving {
namespace {

using npu::vector_work;
using workload::TransformerShape;

// Operators of a layer; an op is layer * parts + part. Those that stand before and behind the
// layers are of the layer after the last one.
enum Part : std::uint32_t {
  norm_in,
  qkv,
  attention,
  out,
  reduce_out,
  norm_mid,
  router,
  up,
  gate,
  down,
  expert_up,
  expert_gate,
  expert_down,
  reduce_down,
  hand_on,
  embedding,
  last_norm,
  head,
  softmax,
  part_count
};
constexpr std::uint32_t parts = 32;
static_assert(part_count <= parts);
static_assert((most_layers + 1) * parts <= 1U << OperatorName::op_bits);

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> names{
      "norm_in", "qkv",       "attention", "out",       "reduce_out",  "norm_mid",    "router",
      "up",      "gate",      "down",      "expert_up", "expert_gate", "expert_down", "reduce_down",
      "hand_on", "embedding", "last_norm", "head",      "softmax"};
  return names;
}

// A group of sequences in the bits of a shape.
constexpr unsigned query_bits = 13;
constexpr unsigned key_bits = 19;
static_assert(10 + query_bits + key_bits == OperatorName::shape_bits);
static_assert(most_sequences == 1U << 10 && most_queries == 1U << query_bits &&
              most_keys < 1U << key_bits);

std::uint64_t code_of(const SequenceGroup& group) {
  return std::uint64_t{group.sequences - 1} << (query_bits + key_bits) |
         std::uint64_t{group.queries - 1} << key_bits | group.keys;
}

SequenceGroup group_of(std::uint64_t shape) {
  return {static_cast<std::uint32_t>(shape >> (query_bits + key_bits)) + 1,
          (static_cast<std::uint32_t>(shape >> key_bits) & (most_queries - 1)) + 1,
          static_cast<std::uint32_t>(shape) & most_keys};
}

class LanguageModel final : public ServedModel {
 public:
  explicit LanguageModel(const LanguageSetup& setup)
      : setup_(setup), shape_(setup.shape), tensor_(setup.tensor) {
    heads_ = shape_.heads / tensor_;
    kv_heads_ = std::max<std::uint64_t>(1, shape_.kv_heads / tensor_);
    place_operands();
  }

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  std::uint32_t kind_of(std::uint32_t op) const override { return op % parts; }
  const std::vector<std::string>& names() const override { return part_names(); }
  std::uint32_t name_of(std::uint32_t op) const override { return op % parts; }
  std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const override {
    return op / parts * layer_bytes_ + begins_[op % parts][operand];
  }
  std::uint64_t memory_end() const override { return (shape_.layers + 1) * layer_bytes_; }

  Step step(const Batch& batch) const override;
  Exchange exchange(std::uint32_t op, std::uint64_t shape) const override;
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override;
  Bytes weights() const override;
  Bytes cache_of_token() const override {
    const std::uint64_t layers = quotient_up(shape_.layers, setup_.pipeline);
    return element() * (2 * kv_heads_ * shape_.head_width * layers);
  }

 private:
  Bytes element() const { return element_size(shape_.data_type); }
  bool has_experts(std::uint64_t layer) const {
    return shape_.experts && (layer + 1) % shape_.experts->every == 0;
  }
  std::uint64_t experts_of(std::uint64_t rows) const {
    return std::min(shape_.experts->count, rows * shape_.experts->top_k);
  }
  std::uint32_t stage_of(std::uint64_t layer) const {
    return static_cast<std::uint32_t>(layer * setup_.pipeline / shape_.layers);
  }
  std::uint64_t up_columns(std::uint64_t ffn) const {
    const bool gated = shape_.mlp == workload::Activation::swiglu;
    return quotient_up(ffn, tensor_) * (gated ? 2 : 1);
  }

  void place_operands();
  npu::ProductSpec product(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth) const;
  npu::ProductSpec expert_product(std::uint64_t rows, std::uint64_t columns,
                                  std::uint64_t depth) const;
  npu::ProductSpec product_of(Part part, std::uint64_t rows) const;
  npu::StreamSpec norm(std::uint64_t rows, bool skip) const;
  npu::StreamSpec gate_of(std::uint64_t rows, std::uint64_t columns) const;
  npu::StreamSpec stream_of(Part part, std::uint64_t rows) const;
  npu::AttentionSpec attention_of(const SequenceGroup& group) const;

  // Puts the parts of a step behind each other.
  struct Builder;

  LanguageSetup setup_;
  TransformerShape shape_;
  std::uint64_t tensor_;
  std::uint64_t heads_ = 1;     // of an NPU
  std::uint64_t kv_heads_ = 1;  // of an NPU
  std::array<std::array<std::uint64_t, npu::most_operands>, parts> begins_{};
  std::uint64_t layer_bytes_ = 0;
};

npu::ProductSpec LanguageModel::product(std::uint64_t rows, std::uint64_t columns,
                                        std::uint64_t depth) const {
  npu::ProductSpec spec;
  spec.shape = {rows, columns, depth, 1};
  spec.bias = shape_.biases;
  return spec;
}

// Tokens go to `top_k` experts each, spread evenly over as many as they reach.
npu::ProductSpec LanguageModel::expert_product(std::uint64_t rows, std::uint64_t columns,
                                               std::uint64_t depth) const {
  const std::uint64_t reached = experts_of(rows);
  npu::ProductSpec spec;
  spec.shape = {quotient_up(rows * shape_.experts->top_k, reached), columns, depth, reached};
  return spec;
}

npu::ProductSpec LanguageModel::product_of(Part part, std::uint64_t rows) const {
  const std::uint64_t hidden = shape_.hidden;
  const std::uint64_t width = shape_.head_width;
  npu::ProductSpec spec;
  switch (part) {
    case qkv:
      spec = product(rows, (heads_ + 2 * kv_heads_) * width, hidden);
      if (shape_.positions == workload::Positions::rotary) {
        spec.then = vector_work("add") + vector_work("mul") + vector_work("mul");
      }
      return spec;
    case out:
      spec = product(rows, hidden, heads_ * width);
      spec.residuals = tensor_ == 1 ? 1 : 0;
      return spec;
    case router:
      spec = product(rows, shape_.experts->count, hidden);
      spec.bias = false;
      spec.then = vector_work("exp");
      return spec;
    case up:
    case expert_up:
      spec = part == up ? product(rows, up_columns(shape_.ffn), hidden)
                        : expert_product(rows, up_columns(shape_.experts->ffn), hidden);
      if (shape_.mlp != workload::Activation::swiglu) {
        spec.then = vector_work(shape_.mlp == workload::Activation::relu ? "relu" : "gelu");
      }
      return spec;
    case down:
      spec = product(rows, hidden, quotient_up(shape_.ffn, tensor_));
      spec.residuals = tensor_ == 1 ? 1 : 0;
      return spec;
    case expert_down:
      return expert_product(rows, hidden, quotient_up(shape_.experts->ffn, tensor_));
    default:
      spec = product(rows, quotient_up(shape_.vocabulary, tensor_), hidden);
      spec.bias = false;
      return spec;
  }
}

npu::StreamSpec LanguageModel::norm(std::uint64_t rows, bool skip) const {
  const std::uint64_t columns = shape_.hidden;
  const bool is_rms = shape_.norm == workload::Norm::rms;
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = columns;
  spec.work = vector_work(is_rms ? "rms_norm" : "layer_norm");
  spec.inputs.push_back({"input", 0, columns, 1, 1, false});
  if (skip) {
    spec.inputs.push_back({"skip", 0, columns, 1, 1, false});
    spec.work = spec.work + vector_work("add");
  }
  spec.inputs.push_back({"gain", 0, columns, 1, 1, true});
  if (!is_rms) {
    spec.inputs.push_back({"bias", 0, columns, 1, 1, true});
  }
  return spec;
}

npu::StreamSpec LanguageModel::gate_of(std::uint64_t rows, std::uint64_t columns) const {
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = columns;
  spec.inputs = {{"gate", 0, columns, 1, 1, false}, {"up", 0, columns, 1, 1, false}};
  spec.work = vector_work("silu") + vector_work("mul");
  return spec;
}

npu::StreamSpec LanguageModel::stream_of(Part part, std::uint64_t rows) const {
  npu::StreamSpec spec;
  switch (part) {
    case norm_in:
    case norm_mid:
    case last_norm:
      return norm(rows, tensor_ > 1 || (part == norm_in && shape_.experts));
    case gate:
      return gate_of(rows, quotient_up(shape_.ffn, tensor_));
    case expert_gate:
      return gate_of(quotient_up(rows * shape_.experts->top_k, experts_of(rows)) * experts_of(rows),
                     quotient_up(shape_.experts->ffn, tensor_));
    case embedding:
      spec.rows = rows;
      spec.columns = shape_.hidden;
      spec.inputs = {{"table", 0, shape_.hidden, 1, 1, false}};
      spec.work = vector_work("copy");
      if (shape_.positions == workload::Positions::learned) {
        spec.inputs.push_back({"positions", 0, shape_.hidden, 1, 1, false});
        spec.work = vector_work("add");
      }
      return spec;
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

npu::AttentionSpec LanguageModel::attention_of(const SequenceGroup& group) const {
  npu::AttentionSpec spec;
  spec.batch = group.sequences;
  spec.heads = heads_;
  spec.kv_heads = kv_heads_;
  spec.queries = group.queries;
  spec.keys = quotient_up(group.keys, setup_.block) * setup_.block;
  spec.width = shape_.head_width;
  spec.value_width = shape_.head_width;
  spec.append = group.queries;
  return spec;
}

std::shared_ptr<const npu::TiledOperator> LanguageModel::make(std::uint32_t op, std::uint64_t shape,
                                                              std::uint64_t cores) const {
  const npu::Target target{setup_.core, cores, shape_.data_type};
  const auto part = static_cast<Part>(op % parts);
  switch (part) {
    case attention: {
      std::shared_ptr<const npu::TiledOperator> made =
          npu::lower(attention_of(group_of(shape)), target);
      ensure(made != nullptr, "attention that was checked to fit a core does not");
      return made;
    }
    case qkv:
    case out:
    case router:
    case up:
    case down:
    case expert_up:
    case expert_down:
    case head:
      return npu::lower(product_of(part, shape), target);
    default:
      return npu::lower(stream_of(part, shape), target);
  }
}

// Room for the operands of the largest step; those of a layer lie behind those of the one before.
void LanguageModel::place_operands() {
  const std::uint64_t rows = setup_.tokens;
  const auto place = [&](Part part, std::uint64_t shape) {
    begins_[part] = npu::place_operands(*make(part, shape, setup_.cores), layer_bytes_);
  };
  for (const Part part : {norm_in, qkv, out, norm_mid, up, down}) {
    place(part, rows);
  }
  if (shape_.mlp == workload::Activation::swiglu) {
    place(gate, rows);
  }
  if (shape_.experts) {
    for (const Part part : {router, expert_up, expert_gate, expert_down}) {
      place(part, rows);
    }
  }
  const auto keys = static_cast<std::uint32_t>(shape_.sequence);
  place(attention, code_of({setup_.sequences, 1, keys}));
  place(embedding, rows);
  place(last_norm, setup_.sequences);
  place(head, setup_.sequences);
  place(softmax, setup_.sequences);
}

Bytes LanguageModel::weights() const {
  const auto bytes = [&](const npu::ProductSpec& spec) {
    return element() * (spec.shape.depth + (spec.bias ? 1 : 0)) * spec.shape.columns *
           spec.shape.count;
  };
  const Bytes norm_bytes = element() * (2 * shape_.hidden);
  std::vector<Bytes> of_stage(setup_.pipeline);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    Bytes sum = bytes(product_of(qkv, 1)) + bytes(product_of(out, 1)) + norm_bytes * 2;
    if (has_experts(layer)) {
      const workload::ExpertShape& experts = *shape_.experts;
      const std::uint64_t one = up_columns(experts.ffn) + quotient_up(experts.ffn, tensor_);
      sum += element() * (experts.count * one * shape_.hidden);
    } else {
      sum += bytes(product_of(up, 1)) + bytes(product_of(down, 1));
    }
    of_stage[stage_of(layer)] += sum;
  }
  const Bytes table = bytes(product_of(head, 1));
  of_stage.front() += table;
  if (setup_.pipeline > 1 || !shape_.tie_embeddings) {
    of_stage.back() += table;
  }
  return *std::max_element(of_stage.begin(), of_stage.end());
}

struct LanguageModel::Builder {
  const LanguageModel& model;
  Step step;
  std::vector<std::vector<std::uint32_t>> last;  // [shards] parts that the next one waits for

  explicit Builder(const LanguageModel& the_model) : model(the_model), last(the_model.tensor_) {}

  // On every shard of a stage, behind what it did last.
  void add(std::uint32_t stage, std::uint32_t op, const std::vector<std::uint64_t>& shapes) {
    for (std::uint32_t shard = 0; shard < model.tensor_; ++shard) {
      std::vector<std::uint32_t> made;
      for (const std::uint64_t shape : shapes) {
        made.push_back(static_cast<std::uint32_t>(step.size()));
        step.push_back({op, shape, static_cast<std::uint32_t>(stage * model.tensor_ + shard), false,
                        last[shard]});
      }
      last[shard] = std::move(made);
    }
  }
  void add(std::uint32_t stage, std::uint32_t op, std::uint64_t shape) {
    add(stage, op, std::vector<std::uint64_t>{shape});
  }

  // Waits for all shards, and all wait for it.
  void exchange(std::uint32_t stage, std::uint32_t op, std::uint64_t rows) {
    std::vector<std::uint32_t> after;
    for (const auto& of_shard : last) {
      after.insert(after.end(), of_shard.begin(), of_shard.end());
    }
    const auto place = static_cast<std::uint32_t>(step.size());
    step.push_back(
        {op, rows, static_cast<std::uint32_t>(stage * model.tensor_), true, std::move(after)});
    for (auto& of_shard : last) {
      of_shard = {place};
    }
  }

  void layer(std::uint64_t number, std::uint64_t rows, const std::vector<std::uint64_t>& groups);
};

void LanguageModel::Builder::layer(std::uint64_t number, std::uint64_t rows,
                                   const std::vector<std::uint64_t>& groups) {
  const std::uint32_t stage = model.stage_of(number);
  const auto first = static_cast<std::uint32_t>(number * parts);
  const bool gated = model.shape_.mlp == workload::Activation::swiglu;
  const bool cut = model.tensor_ > 1;
  add(stage, first + norm_in, rows);
  add(stage, first + qkv, rows);
  add(stage, first + attention, groups);
  add(stage, first + out, rows);
  if (cut) {
    exchange(stage, first + reduce_out, rows);
  }
  add(stage, first + norm_mid, rows);
  if (model.has_experts(number)) {
    add(stage, first + router, rows);
    add(stage, first + expert_up, rows);
    if (gated) {
      add(stage, first + expert_gate, rows);
    }
    add(stage, first + expert_down, rows);
  } else {
    add(stage, first + up, rows);
    if (gated) {
      add(stage, first + gate, rows);
    }
    add(stage, first + down, rows);
  }
  if (cut) {
    exchange(stage, first + reduce_down, rows);
  }
  if (number + 1 < model.shape_.layers && model.stage_of(number + 1) != stage) {
    exchange(stage, first + hand_on, rows);
  }
}

Step LanguageModel::step(const Batch& batch) const {
  Builder builder(*this);
  const std::uint64_t rows = batch.tokens();
  std::vector<std::uint64_t> groups;
  for (const SequenceGroup& group : batch.groups) {
    groups.push_back(code_of(group));
  }
  const auto outside = static_cast<std::uint32_t>(shape_.layers * parts);
  builder.add(0, outside + embedding, rows);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    builder.layer(layer, rows, groups);
  }
  if (batch.emitting > 0) {
    for (const Part part : {last_norm, head, softmax}) {
      builder.add(setup_.pipeline - 1, outside + part, batch.emitting);
    }
  }
  return std::move(builder.step);
}

Exchange LanguageModel::exchange(std::uint32_t op, std::uint64_t shape) const {
  const std::uint32_t stage = stage_of(op / parts);
  Exchange exchange;
  exchange.kind = op % parts == hand_on ? Exchange::Kind::hand_on : Exchange::Kind::all_reduce;
  exchange.first = stage * setup_.tensor;
  exchange.units = setup_.tensor;
  exchange.bytes = element() * (shape * shape_.hidden);
  return exchange;
}

void refuse_cuts(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  if (shape.heads % setup.tensor != 0) {
    throw ConfigError("tensor: " + std::to_string(shape.heads) + " heads cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
  if (shape.kv_heads % setup.tensor != 0 && setup.tensor % shape.kv_heads != 0) {
    throw ConfigError("tensor: " + std::to_string(shape.kv_heads) +
                      " heads of keys and values cannot be cut over " +
                      std::to_string(setup.tensor) + " NPUs");
  }
  if (setup.pipeline > shape.layers) {
    throw ConfigError("pipeline: more stages than layers (" + std::to_string(shape.layers) + ")");
  }
}

void refuse_shape(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  if (shape.architecture != workload::Architecture::decoder ||
      shape.head != workload::Head::language_model) {
    throw ConfigError("architecture: only decoders with a head of a language model generate text");
  }
  if (shape.experts && shape.experts->shared > 0) {
    throw ConfigError("experts.shared: experts that work on every token are not served");
  }
  if (shape.layers > most_layers) {
    throw ConfigError("layers: more than " + std::to_string(most_layers));
  }
  if (shape.sequence + setup.block > most_keys) {
    throw ConfigError("sequence: more than " + std::to_string(most_keys - setup.block));
  }
  // The hardest: all queries of a step against the longest sequence.
  npu::AttentionSpec spec;
  spec.heads = shape.heads / setup.tensor;
  spec.kv_heads = std::max<std::uint64_t>(1, shape.kv_heads / setup.tensor);
  spec.queries = std::min<std::uint64_t>({setup.tokens, most_queries, shape.sequence});
  spec.keys = quotient_up(shape.sequence, setup.block) * setup.block;
  spec.width = spec.value_width = shape.head_width;
  spec.append = spec.queries;
  if (npu::lower(spec, {setup.core, setup.cores, shape.data_type}) == nullptr) {
    throw ConfigError("heads: attention of " + std::to_string(spec.queries) +
                      " tokens does not fit the scratchpad and accumulator of a core");
  }
}

}  // namespace

std::unique_ptr<ServedModel> make_language_model(const LanguageSetup& setup) {
  refuse_cuts(setup);
  refuse_shape(setup);
  return std::make_unique<LanguageModel>(setup);
}

}  // namespace tessera::serving
