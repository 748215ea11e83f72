// The order of a step: which operators (layer_operators.hpp) come behind which, on which NPU.
#include "tessera/serving/language_model.hpp"

#include <algorithm>
#include <utility>

#include "layer_operators.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::serving {
namespace {

using workload::TransformerShape;

class LanguageModel final : public ServedModel {
 public:
  explicit LanguageModel(const LanguageSetup& setup)
      : setup_(setup), shape_(setup.shape), tensor_(setup.tensor), operators_(setup) {}

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  std::uint32_t kind_of(std::uint32_t op) const override { return op % parts; }
  const std::vector<std::string>& names() const override { return part_names(); }
  std::uint32_t name_of(std::uint32_t op) const override { return op % parts; }
  std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const override {
    return op / parts * operators_.layer_bytes() + operators_.operand_begin(op % parts, operand);
  }
  std::uint64_t memory_end() const override {
    return (shape_.layers + 1) * operators_.layer_bytes();
  }

  Step step(const Batch& batch) const override;
  Exchange exchange(std::uint32_t op, std::uint64_t shape) const override;
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override {
    return operators_.make(static_cast<Part>(op % parts), shape, cores);
  }
  Bytes weights() const override;
  Bytes cache_of_token() const override {
    return operators_.cache_of_token() * quotient_up(shape_.layers, setup_.pipeline);
  }

 private:
  bool has_experts(std::uint64_t layer) const {
    return shape_.experts && (layer + 1) % shape_.experts->every == 0;
  }
  std::uint32_t stage_of(std::uint64_t layer) const {
    return static_cast<std::uint32_t>(layer * setup_.pipeline / shape_.layers);
  }

  // Puts the parts of a step behind each other.
  struct Builder;

  LanguageSetup setup_;
  TransformerShape shape_;
  std::uint64_t tensor_;
  LayerOperators operators_;
};

Bytes LanguageModel::weights() const {
  std::vector<Bytes> of_stage(setup_.pipeline);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    of_stage[stage_of(layer)] += operators_.weights_of_layer(has_experts(layer));
  }
  of_stage.front() += operators_.table();
  if (setup_.pipeline > 1 || !shape_.tie_embeddings) {
    of_stage.back() += operators_.table();
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
  exchange.bytes = operators_.element() * (shape * shape_.hidden);
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
