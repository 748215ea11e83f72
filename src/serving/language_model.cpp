// The order of a step: which operators (layer_shapes.hpp) come behind which, on which NPU.
#include "tessera/serving/language_model.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "layers/operations.hpp"
#include "layers/operators.hpp"
#include "layers/weights.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::serving {
namespace {

using workload::TransformerShape;

// What both have in common that NPU cores and tiles do.
class LanguageModel : public ServedModel {
 public:
  explicit LanguageModel(const LanguageSetup& setup)
      : setup_(setup), shape_(setup.shape), tensor_(setup.tensor), shapes_(setup), flops_(shape_) {
    const std::vector<Bytes> of_stages = weights_of_stages(setup_);
    weights_ = *std::max_element(of_stages.begin(), of_stages.end());
    if (setup_.adapter_slots > 0) {
      weights_ += LanguageModel::adapter() * setup_.adapter_slots;
      adapter_flops_ = flops_of_adapters();
    } else if (setup_.expert == 1 && !shape_.latent &&
               (!shape_.experts || shape_.experts->shared == 0)) {
      names_.resize(latent_down);  // of parts that it has
    }
    if (setup_.expert == 1 && names_.size() > swap_tokens) {
      names_.resize(swap_tokens);
    }
  }

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline * setup_.expert; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  std::uint32_t kind_of(std::uint32_t op) const override { return op % parts; }
  const std::vector<std::string>& names() const override { return names_; }
  std::uint32_t name_of(std::uint32_t op) const override { return op % parts; }
  Exchange exchange(std::uint32_t op, std::uint64_t shape) const override;
  Wide flops(const Batch& batch) const override {
    return flops_.of_step(sizes_of_batch(batch)) +
           Wide{batch.adapted} * adapter_flops_ * shape_.layers;
  }
  Bytes weights() const override { return weights_; }
  Bytes adapter() const override {
    return shapes_.element() * shapes_.adapter_numbers() *
           quotient_up(shape_.layers, setup_.pipeline);
  }
  // Of a token that any of several units may have, the mean.
  Bytes cache_of_token() const override {
    const Bytes whole = shapes_.cache_of_token() * quotient_up(shape_.layers, setup_.pipeline);
    return Bytes(shapes_.own(whole.count()));
  }

 protected:
  bool has_experts(std::uint64_t layer) const {
    return shape_.experts && shape_.experts->are_in(layer);
  }
  std::uint32_t stage_of(std::uint64_t layer) const { return serving::stage_of(setup_, layer); }
  std::uint32_t outside() const { return static_cast<std::uint32_t>(shape_.layers * parts); }
  std::uint64_t flops_of_adapters() const;
  // Parts of a layer, one behind the other, exchanges among them; with those of adapters.
  std::vector<Part> parts_of(std::uint64_t layer, bool adapted = false) const;
  StepSizes sizes_of_batch(const Batch& batch) const;

  LanguageSetup setup_;
  TransformerShape shape_;
  std::uint64_t tensor_;
  LayerShapes shapes_;

 private:
  LayerFlops flops_;
  Bytes weights_;
  std::uint64_t adapter_flops_ = 0;  // of a token in a layer, by all units, nothing twice
  std::vector<std::string> names_ = part_names(setup_.adapter_slots > 0 || setup_.expert > 1);
};

constexpr std::array of_head{last_norm, head, softmax};

std::uint64_t LanguageModel::flops_of_adapters() const {
  LanguageSetup whole = setup_;
  whole.tensor = 1;
  const LayerShapes shapes(whole);
  std::uint64_t flops = 2 * shapes.adapter_numbers();
  for (const Part base : {qkv, out, up, down}) {
    flops += shapes.product_of(base, 1).shape.columns;  // added to what is there
  }
  return flops;
}

std::vector<Part> LanguageModel::parts_of(std::uint64_t layer, bool adapted) const {
  const bool gated = shape_.mlp == workload::Activation::swiglu;
  const bool experts = has_experts(layer);
  std::vector<Part> all =
      shape_.latent ? std::vector<Part>{norm_in, latent_down, latent_norm, query_up, absorb}
                    : std::vector<Part>{norm_in, qkv};
  const auto add = [&all](bool there, Part part) {
    if (there) {
      all.push_back(part);
    }
  };
  const auto add_adapters = [&](Part shrink, Part expand) {
    add(adapted, shrink);
    add(adapted, expand);
  };
  add_adapters(qkv_shrink, qkv_expand);
  all.push_back(attention);
  add(shape_.latent.has_value(), value_up);
  all.push_back(out);
  add_adapters(out_shrink, out_expand);
  add(tensor_ > 1, reduce_out);
  all.push_back(norm_mid);
  add(experts, router);
  add(experts && setup_.expert > 1, swap_tokens);
  all.push_back(experts ? expert_up : up);
  add_adapters(up_shrink, up_expand);
  add(gated, experts ? expert_gate : gate);
  all.push_back(experts ? expert_down : down);
  add_adapters(down_shrink, down_expand);
  add(experts && setup_.expert > 1, swap_tokens);
  const bool shared = experts && shape_.experts->shared > 0;
  add(shared, shared_up);
  add(shared && gated, shared_gate);
  add(shared, shared_down);
  add(tensor_ > 1, reduce_down);
  add(layer + 1 < shape_.layers && stage_of(layer + 1) != stage_of(layer), hand_on);
  return all;
}

// Blocks of queries of prompts that are alike. With a mask the last block looks at all keys, and
// each before it at `block_rows` fewer.
void add_blocks(const SequenceGroup& group, bool halves, StepSizes& sizes) {
  constexpr std::uint64_t rows = workload::AttentionSizes::block_rows;
  const std::uint64_t of_each = quotient_up(group.queries, rows);
  const std::uint64_t hidden = halves && group.queries > rows ? (group.queries - rows) / 2 : 0;
  const std::uint64_t keys = group.keys - hidden;
  const std::uint64_t all = group.sequences * of_each;
  sizes.blocks += all;
  sizes.block_keys += all * keys;
  sizes.most_blocks = std::max(sizes.most_blocks, of_each);
  if (keys > sizes.longest_keys) {
    sizes.longest_keys = keys;
    sizes.longest_blocks = all;
  }
}

StepSizes LanguageModel::sizes_of_batch(const Batch& batch) const {
  const bool halves = shape_.causal && shape_.attention == workload::AttentionKind::flash;
  StepSizes sizes;
  sizes.tokens = batch.tokens();
  sizes.emitting = batch.emitting;
  sizes.adapters = batch.adapters;
  sizes.adapted = batch.adapted;
  for (const SequenceGroup& group : batch.groups) {
    const std::uint64_t keys = std::uint64_t{group.sequences} * group.keys;
    if (group.queries == 1) {
      sizes.generating += group.sequences;
      sizes.generating_keys += keys;
    } else {
      sizes.prompts += group.sequences;
      sizes.prompt_keys += keys;
      const std::uint64_t pairs = 2 * std::uint64_t{group.keys} - (halves ? group.queries : 0);
      sizes.twice_pairs += group.sequences * group.queries * pairs;
      add_blocks(group, halves, sizes);
    }
  }
  return sizes;
}

bool is_exchange(Part part) {
  return part == reduce_out || part == reduce_down || part == hand_on;
}

bool is_all_to_all(std::uint32_t part) {
  return part == swap_tokens;
}

// On NPU cores: parts that cores share.
class CoreModel final : public LanguageModel {
 public:
  explicit CoreModel(const LanguageSetup& setup) : LanguageModel(setup), operators_(setup) {}

  std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const override {
    return op / parts * operators_.layer_bytes() + operators_.operand_begin(op % parts, operand);
  }
  std::uint64_t memory_end() const override {
    return (shape_.layers + 1) * operators_.layer_bytes();
  }
  Step step(const Batch& batch) const override;
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override {
    return operators_.make(static_cast<Part>(op % parts), shape, cores);
  }

 private:
  // Puts the parts of a step behind each other.
  struct Builder;

  LayerOperators operators_;
};

// On tiles: a step is one part, which units go through by themselves.
class WalkedModel final : public LanguageModel, public TileModel {
 public:
  explicit WalkedModel(const LanguageSetup& setup) : LanguageModel(setup), operations_(setup) {
    for (std::uint32_t stage = 0; stage < setup_.pipeline; ++stage) {
      for (const bool adapted : {false, true}) {
        for (const bool emits : {false, true}) {
          walks_.push_back(make_walk(stage, emits, adapted));
        }
      }
    }
  }

  const TileModel* on_tiles() const override { return this; }
  Step step(const Batch& batch) const override {
    return {StepPart{0, sizes_of(batch).words()[0], 0, false, {}}};
  }
  // Of a unit, where each has sequences of its own.
  StepSizes sizes_of(const Batch& batch) const override {
    const StepSizes all = sizes_of_batch(batch);
    StepSizes own = all;
    own.tokens = shapes_.own(all.generating) + shapes_.own(all.tokens - all.generating);
    for (std::uint64_t* const sum :
         {&own.emitting, &own.generating, &own.generating_keys, &own.prompts, &own.prompt_keys,
          &own.twice_pairs, &own.blocks, &own.block_keys, &own.longest_blocks}) {
      *sum = shapes_.own(*sum);
    }
    return own;
  }
  const Walk& walk(std::uint32_t unit, const StepSizes& sizes) const override {
    return walks_[unit / (tensor_ * setup_.expert) * 4 + (sizes.adapters > 0 ? 2 : 0) +
                  (sizes.emitting > 0 ? 1 : 0)];
  }
  StepSizes needed(std::uint32_t op, const StepSizes& sizes) const override {
    return LayerOperations::needed(static_cast<Part>(op % parts), sizes);
  }
  TileOperation operation(std::uint32_t op, const StepSizes& sizes) const override {
    return operations_.make(static_cast<Part>(op % parts), sizes);
  }
  bool fills_cache(std::uint32_t op) const override {
    return op < outside() && op % parts == attention;
  }
  Bytes cache_of_layer() const override {
    return Bytes(shapes_.own(shapes_.cache_of_token().count()));
  }

  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t, std::uint64_t,
                                                 std::uint64_t) const override {
    throw InternalError("a model on tiles has no operators of NPU cores");
  }
  std::uint64_t operand_begin(std::uint32_t, std::uint8_t) const override { return 0; }
  std::uint64_t memory_end() const override { return 0; }

 private:
  Walk make_walk(std::uint32_t stage, bool emits, bool adapted) const;

  LayerOperations operations_;
  std::vector<Walk> walks_;  // [stages][with adapters][emits]
};

Walk WalkedModel::make_walk(std::uint32_t stage, bool emits, bool adapted) const {
  using Kind = WalkPart::Kind;
  Walk walk;
  if (stage == 0) {
    walk.push_back({outside() + embedding, Kind::operation});
  }
  std::uint32_t before = 0;
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
    if (stage_of(layer) != stage) {
      before = layer;
      continue;
    }
    if (walk.empty()) {
      walk.push_back({before * parts + hand_on, Kind::await});
    }
    for (const Part part : parts_of(layer, adapted)) {
      const Kind kind = part == hand_on       ? Kind::hand_on
                        : is_exchange(part)   ? Kind::all_reduce
                        : is_all_to_all(part) ? Kind::all_to_all
                                              : Kind::operation;
      walk.push_back({layer * parts + part, kind});
    }
  }
  if (stage + 1 == setup_.pipeline && emits) {
    for (const Part part : of_head) {
      walk.push_back({outside() + part, Kind::operation});
    }
  }
  return walk;
}

struct CoreModel::Builder {
  const CoreModel& model;
  Step step;
  std::vector<std::vector<std::uint32_t>> last;  // [shards] parts that the next one waits for

  explicit Builder(const CoreModel& the_model) : model(the_model), last(the_model.tensor_) {}

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

void CoreModel::Builder::layer(std::uint64_t number, std::uint64_t rows,
                               const std::vector<std::uint64_t>& groups) {
  const std::uint32_t stage = model.stage_of(number);
  const auto first = static_cast<std::uint32_t>(number * parts);
  for (const Part part : model.parts_of(number)) {
    if (is_exchange(part)) {
      exchange(stage, first + part, rows);
    } else if (part == attention) {
      add(stage, first + part, groups);
    } else {
      add(stage, first + part, rows);
    }
  }
}

Step CoreModel::step(const Batch& batch) const {
  Builder builder(*this);
  const std::uint64_t rows = batch.tokens();
  std::vector<std::uint64_t> groups;
  for (const SequenceGroup& group : batch.groups) {
    groups.push_back(code_of(group));
  }
  builder.add(0, outside() + embedding, rows);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    builder.layer(layer, rows, groups);
  }
  if (batch.emitting > 0) {
    for (const Part part : of_head) {
      builder.add(setup_.pipeline - 1, outside() + part, batch.emitting);
    }
  }
  return std::move(builder.step);
}

Exchange LanguageModel::exchange(std::uint32_t op, std::uint64_t shape) const {
  const std::uint32_t stage = stage_of(op / parts);
  Exchange exchange;
  if (is_all_to_all(op % parts)) {
    exchange.kind = Exchange::Kind::all_to_all;
    exchange.units = setup_.expert;
    exchange.bytes =
        shapes_.element() *
        (shape * shape_.hidden * std::min<std::uint64_t>(shape_.experts->top_k, setup_.expert));
    return exchange;
  }
  exchange.kind = op % parts == hand_on ? Exchange::Kind::hand_on : Exchange::Kind::all_reduce;
  exchange.first = stage * setup_.tensor;
  exchange.units = setup_.tensor;
  exchange.bytes = shapes_.element() * (shape * shape_.hidden);
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
  if (setup.expert > 1 && (setup.tensor > 1 || setup.pipeline > 1)) {
    throw ConfigError("expert: goes with neither tensor nor pipeline");
  }
  if (setup.expert > 1 && !shape.experts) {
    throw ConfigError("expert: is of models with experts");
  }
  if (setup.expert > 1 && setup.core != nullptr) {
    throw ConfigError("expert: experts are spread over tiles, not over NPU cores");
  }
  if (setup.expert > 1 && shape.experts->count % setup.expert != 0) {
    throw ConfigError("expert: " + std::to_string(shape.experts->count) +
                      " experts cannot be spread over " + std::to_string(setup.expert) + " NPUs");
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
  for (const workload::LayerKind& kind : shape.pattern) {
    if (kind != workload::LayerKind()) {
      throw ConfigError("pattern: only layers of attention over all tokens with an MLP are served");
    }
  }
  if (shape.experts &&
      (shape.experts->loads != workload::ExpertLoads::even || !shape.experts->shares.empty())) {
    throw ConfigError("experts: tokens that are served spread evenly over experts");
  }
  if (shape.latent && setup.core != nullptr) {
    throw ConfigError("latent: latent attention is served on tiles, not on NPU cores");
  }
  if (shape.latent && setup.adapter_slots > 0) {
    throw ConfigError("latent: latent attention is served without adapters");
  }
  if (shape.experts && setup.adapter_slots > 0) {
    throw ConfigError("experts: models with experts are served without adapters");
  }
  if (shape.layers > most_layers) {
    throw ConfigError("layers: more than " + std::to_string(most_layers));
  }
  if (shape.sequence + setup.block > most_keys) {
    throw ConfigError("sequence: more than " + std::to_string(most_keys - setup.block));
  }
}

// The hardest: all queries of a step against the longest sequence.
void refuse_small_core(const LanguageSetup& setup) {
  const TransformerShape& shape = setup.shape;
  npu::AttentionSpec spec;
  spec.heads = shape.heads / setup.tensor;
  spec.kv_heads = std::max<std::uint64_t>(1, shape.kv_heads / setup.tensor);
  spec.queries = std::min<std::uint64_t>({setup.tokens, most_queries, shape.sequence});
  spec.keys = quotient_up(shape.sequence, setup.block) * setup.block;
  spec.width = spec.value_width = shape.head_width;
  spec.append = spec.queries;
  if (npu::lower(spec, {*setup.core, setup.cores, shape.data_type}) == nullptr) {
    throw ConfigError("heads: attention of " + std::to_string(spec.queries) +
                      " tokens does not fit the scratchpad and accumulator of a core");
  }
}

}  // namespace

std::unique_ptr<ServedModel> make_language_model(const LanguageSetup& setup) {
  refuse_cuts(setup);
  refuse_shape(setup);
  if (setup.core == nullptr) {
    return std::make_unique<WalkedModel>(setup);
  }
  refuse_small_core(setup);
  return std::make_unique<CoreModel>(setup);
}

}  // namespace tessera::serving
