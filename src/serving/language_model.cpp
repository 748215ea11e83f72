// The order of a step: which operators (layer_shapes.hpp) come behind which, on which NPU.
#include "tessera/serving/language_model.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <utility>

#include "layers/batch_sizes.hpp"
#include "layers/checks.hpp"
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
    }
    names_.resize(parts_named());
    count_mixers();
  }

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline * setup_.expert; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  std::uint32_t kind_of(std::uint32_t op) const override { return op_of(0, part_of(op)); }
  const std::vector<std::string>& names() const override { return names_; }
  std::uint32_t name_of(std::uint32_t op) const override { return part_of(op); }
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
    const Bytes whole = shapes_.cache_of_token() * (full_ + windowed_);
    return Bytes(shapes_.own(whole.count()));
  }
  CacheLayout cache_layout() const override;
  Bytes cache_block(std::uint32_t tokens) const override;
  Bytes cache_of_prompt(std::uint64_t tokens) const override {
    return is_uniform() ? cache_of_token() * tokens
                        : of_tokens(tokens) * full_ + of_window(tokens) * windowed_ +
                              state_of_layer() * states_;
  }

 protected:
  bool has_experts(std::uint64_t layer) const {
    return shape_.experts && shape_.experts->are_in(layer);
  }
  std::uint32_t stage_of(std::uint64_t layer) const { return serving::stage_of(setup_, layer); }
  std::uint32_t outside() const { return op_of(shape_.layers, 0); }
  std::uint64_t flops_of_adapters() const;
  // Of a layer's cache on a unit.
  Bytes of_tokens(std::uint64_t tokens) const {
    return Bytes(shapes_.own(shapes_.cache_of_token().count())) * tokens;
  }
  // What the next token sees of so many.
  Bytes of_window(std::uint64_t tokens) const {
    return shape_.window == 0 ? Bytes() : of_tokens(std::min(tokens, shape_.window - 1));
  }
  Bytes state_of_layer() const {
    return shapes_.state_space() ? Bytes(shapes_.own(shapes_.state_space()->kept().count()))
                                 : Bytes();
  }
  bool is_uniform() const { return windowed_ == 0 && states_ == 0; }
  // Parts of a layer, one behind the other, exchanges among them; with those of adapters.
  std::vector<Part> parts_of(std::uint64_t layer, bool adapted = false) const;
  void add_mixing(workload::Mixer mixer, bool adapted, std::vector<Part>& all) const;
  void add_mlp(std::uint64_t layer, bool adapted, std::vector<Part>& all) const;
  StepSizes sizes_of_batch(const Batch& batch) const { return batch_sizes(shapes_, batch); }

  LanguageSetup setup_;
  TransformerShape shape_;
  std::uint64_t tensor_;
  LayerShapes shapes_;

 private:
  std::uint32_t parts_named() const;
  void count_mixers();

  LayerFlops flops_;
  Bytes weights_;
  std::uint64_t adapter_flops_ = 0;  // of a token in a layer, by all units, nothing twice
  std::vector<std::string> names_ = part_names();
  // Layers of a stage that attend to all tokens, to those of a window, and that have a state; of
  // the stage with most of each.
  std::uint64_t full_ = 0;
  std::uint64_t windowed_ = 0;
  std::uint64_t states_ = 0;
};

// Up to the last one that a model of its kind may have.
std::uint32_t LanguageModel::parts_named() const {
  const bool shares = shape_.experts && shape_.experts->shared > 0;
  return shape_.window > 0 || shape_.ssm       ? part_count
         : setup_.expert > 1                   ? local_attention
         : setup_.adapter_slots > 0            ? swap_tokens
         : shape_.latent.has_value() || shares ? qkv_shrink
                                               : latent_down;
}

void LanguageModel::count_mixers() {
  std::vector<std::array<std::uint64_t, 4>> counts(setup_.pipeline);  // [workload::Mixer]
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    ++counts[stage_of(layer)][static_cast<std::size_t>(shape_.kind_of(layer).mixer)];
  }
  const auto most = [&counts](workload::Mixer mixer) {
    std::uint64_t layers = 0;
    for (const auto& of_stage : counts) {
      layers = std::max(layers, of_stage[static_cast<std::size_t>(mixer)]);
    }
    return layers;
  };
  full_ = most(workload::Mixer::attention);
  windowed_ = most(workload::Mixer::local);
  states_ = most(workload::Mixer::ssm);
}

CacheLayout LanguageModel::cache_layout() const {
  if (is_uniform()) {
    return {};
  }
  CacheLayout layout;
  layout.full = full_;
  layout.windowed = windowed_;
  layout.window = windowed_ == 0 ? 0 : static_cast<std::uint32_t>(shape_.window);
  layout.states = full_ + windowed_ == 0 ? 1
                                         : quotient_up((state_of_layer() * states_).count(),
                                                       of_tokens(setup_.block).count());
  return layout;
}

// Of all layers where they are alike, else of one; or a sequence's states where there are no
// others.
Bytes LanguageModel::cache_block(std::uint32_t tokens) const {
  if (is_uniform()) {
    return cache_of_token() * tokens;
  }
  return full_ + windowed_ == 0 ? state_of_layer() * states_ : of_tokens(tokens);
}

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
  const workload::LayerKind kind = shape_.kind_of(layer);
  std::vector<Part> all;
  add_mixing(kind.mixer, adapted, all);
  if (kind.mlp) {
    add_mlp(layer, adapted, all);
  }
  if (layer + 1 < shape_.layers && stage_of(layer + 1) != stage_of(layer)) {
    all.push_back(hand_on);
  }
  return all;
}

void LanguageModel::add_mixing(workload::Mixer mixer, bool adapted, std::vector<Part>& all) const {
  const auto append = [&all](std::initializer_list<Part> some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  if (mixer == workload::Mixer::none) {
    return;
  }
  all.push_back(norm_in);
  if (mixer == workload::Mixer::ssm) {
    append({ssm_input, ssm_convolution, ssm_scan, ssm_gate, ssm_output});
  } else {
    if (shape_.latent) {
      append({latent_down, latent_norm, query_up, absorb});
    } else {
      append({qkv});
    }
    if (adapted) {
      append({qkv_shrink, qkv_expand});
    }
    append({mixer == workload::Mixer::local ? local_attention : attention});
    if (shape_.latent) {
      append({value_up});
    }
    append({out});
    if (adapted) {
      append({out_shrink, out_expand});
    }
  }
  if (tensor_ > 1) {
    append({reduce_out});
  }
}

void LanguageModel::add_mlp(std::uint64_t layer, bool adapted, std::vector<Part>& all) const {
  const bool gated = shape_.mlp == workload::Activation::swiglu;
  const bool experts = has_experts(layer);
  const auto add = [&all](bool there, Part part) {
    if (there) {
      all.push_back(part);
    }
  };
  const auto add_adapters = [&](Part shrink, Part expand) {
    add(adapted, shrink);
    add(adapted, expand);
  };
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
    return layer_of(op) * operators_.layer_bytes() + operators_.operand_begin(part_of(op), operand);
  }
  std::uint64_t memory_end() const override {
    return (shape_.layers + 1) * operators_.layer_bytes();
  }
  Step step(const Batch& batch) const override;
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override {
    return operators_.make(part_of(op), shape, cores);
  }

 private:
  // Puts the parts of a step behind each other.
  struct Builder;
  std::vector<std::uint64_t> groups_in_window(const Batch& batch) const;

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
          &own.twice_pairs, &own.blocks, &own.block_keys, &own.longest_blocks,
          &own.windowed.generating_keys, &own.windowed.prompt_keys, &own.windowed.twice_pairs,
          &own.windowed.block_keys, &own.windowed.longest_blocks, &own.chunks, &own.chunk_pairs}) {
      *sum = shapes_.own(*sum);
    }
    return own;
  }
  const Walk& walk(std::uint32_t unit, const StepSizes& sizes) const override {
    return walks_[unit / (tensor_ * setup_.expert) * 4 + (sizes.adapters > 0 ? 2 : 0) +
                  (sizes.emitting > 0 ? 1 : 0)];
  }
  StepSizes needed(std::uint32_t op, const StepSizes& sizes) const override {
    return LayerOperations::needed(part_of(op), sizes);
  }
  TileOperation operation(std::uint32_t op, const StepSizes& sizes) const override {
    return operations_.make(part_of(op), sizes);
  }
  unsigned more_words() const override {
    return (shape_.window > 0 ? StepSizes::more_of_windows : 0) |
           (shape_.ssm ? StepSizes::more_of_states : 0);
  }
  bool fills_cache(std::uint32_t op) const override {
    const Part part = part_of(op);
    return part == attention || part == local_attention || part == ssm_scan;
  }
  Bytes handed_over(std::uint32_t op, std::uint64_t tokens) const override {
    const Part part = part_of(op);
    return part == ssm_scan          ? state_of_layer()
           : part == local_attention ? of_window(tokens)
                                     : of_tokens(tokens);
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
      walk.push_back({op_of(before, hand_on), Kind::await});
    }
    for (const Part part : parts_of(layer, adapted)) {
      const Kind kind = part == hand_on       ? Kind::hand_on
                        : is_exchange(part)   ? Kind::all_reduce
                        : is_all_to_all(part) ? Kind::all_to_all
                                              : Kind::operation;
      walk.push_back({op_of(layer, part), kind});
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

  // `groups` of sequences that see all, `seen` the same in a window.
  void layer(std::uint64_t number, std::uint64_t rows, const std::vector<std::uint64_t>& groups,
             const std::vector<std::uint64_t>& seen);
};

void CoreModel::Builder::layer(std::uint64_t number, std::uint64_t rows,
                               const std::vector<std::uint64_t>& groups,
                               const std::vector<std::uint64_t>& seen) {
  const std::uint32_t stage = model.stage_of(number);
  for (const Part part : model.parts_of(number)) {
    if (is_exchange(part)) {
      exchange(stage, op_of(number, part), rows);
    } else if (part == attention || part == local_attention) {
      add(stage, op_of(number, part), part == attention ? groups : seen);
    } else {
      add(stage, op_of(number, part), rows);
    }
  }
}

// Those that look alike there go together.
std::vector<std::uint64_t> CoreModel::groups_in_window(const Batch& batch) const {
  if (shape_.window == 0) {
    return {};
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sequences;
  for (const SequenceGroup& group : batch.groups) {
    const SequenceGroup seen = shapes_.in_window(group);
    sequences[{seen.queries, seen.keys}] += seen.sequences;
  }
  std::vector<std::uint64_t> codes;
  for (const auto& [sizes, count] : sequences) {
    codes.push_back(code_of({count, sizes.first, sizes.second}));
  }
  return codes;
}

Step CoreModel::step(const Batch& batch) const {
  Builder builder(*this);
  const std::uint64_t rows = batch.tokens();
  std::vector<std::uint64_t> groups;
  for (const SequenceGroup& group : batch.groups) {
    groups.push_back(code_of(group));
  }
  const std::vector<std::uint64_t> seen = groups_in_window(batch);
  builder.add(0, outside() + embedding, rows);
  for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
    builder.layer(layer, rows, groups, seen);
  }
  if (batch.emitting > 0) {
    for (const Part part : of_head) {
      builder.add(setup_.pipeline - 1, outside() + part, batch.emitting);
    }
  }
  return std::move(builder.step);
}

Exchange LanguageModel::exchange(std::uint32_t op, std::uint64_t shape) const {
  const std::uint32_t stage = stage_of(layer_of(op));
  Exchange exchange;
  if (is_all_to_all(part_of(op))) {
    exchange.kind = Exchange::Kind::all_to_all;
    exchange.units = setup_.expert;
    exchange.bytes =
        shapes_.element() *
        (shape * shape_.hidden * std::min<std::uint64_t>(shape_.experts->top_k, setup_.expert));
    return exchange;
  }
  exchange.kind = part_of(op) == hand_on ? Exchange::Kind::hand_on : Exchange::Kind::all_reduce;
  exchange.first = stage * setup_.tensor;
  exchange.units = setup_.tensor;
  exchange.bytes = shapes_.element() * (shape * shape_.hidden);
  return exchange;
}

}  // namespace

std::unique_ptr<ServedModel> make_language_model(const LanguageSetup& setup) {
  refuse_unserved(setup);
  if (setup.core == nullptr) {
    return std::make_unique<WalkedModel>(setup);
  }
  return std::make_unique<CoreModel>(setup);
}

}  // namespace tessera::serving
