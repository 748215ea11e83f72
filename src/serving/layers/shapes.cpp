#include "layers/shapes.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/core/quotient.hpp"

namespace tessera::serving {

using npu::vector_work;

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> plain{
      "norm_in",     "qkv",         "attention",   "out",       "reduce_out", "norm_mid",
      "router",      "up",          "gate",        "down",      "expert_up",  "expert_gate",
      "expert_down", "reduce_down", "hand_on",     "embedding", "last_norm",  "head",
      "softmax",     "latent_down", "latent_norm", "query_up",  "absorb",     "value_up",
      "shared_up",   "shared_gate", "shared_down"};
  static const std::vector<std::string> whole = [] {
    std::vector<std::string> names = plain;
    for (const char* const product : {"qkv", "out", "up", "down"}) {
      names.push_back(std::string(product) + "_shrink");
      names.push_back(std::string(product) + "_expand");
    }
    for (const char* const name : {"swap_tokens", "local_attention", "ssm_input", "ssm_convolution",
                                   "ssm_scan", "ssm_gate", "ssm_output"}) {
      names.emplace_back(name);
    }
    return names;
  }();
  return whole;
}

Part adapted_part(Part part) {
  switch (part) {
    case qkv_shrink:
    case qkv_expand:
      return qkv;
    case out_shrink:
    case out_expand:
      return out;
    case up_shrink:
    case up_expand:
      return up;
    case down_shrink:
    case down_expand:
      return down;
    default:
      return part;
  }
}

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
      kv_heads_(shape_.latent ? 1 : std::max<std::uint64_t>(1, shape_.kv_heads / tensor_)) {
  if (shape_.ssm) {
    state_space_.emplace(setup);
  }
}

std::uint64_t LayerShapes::up_columns(std::uint64_t ffn) const {
  const bool gated = shape_.mlp == workload::Activation::swiglu;
  return quotient_up(ffn, tensor_) * (gated ? 2 : 1);
}

npu::ProductSpec LayerShapes::product(std::uint64_t rows, std::uint64_t columns,
                                      std::uint64_t depth) const {
  npu::ProductSpec spec;
  spec.shape = {rows, columns, depth, 1};
  spec.bias = shape_.biases;
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

std::optional<npu::StoredWeights> LayerShapes::stored(Part part) const {
  const WeightTypes& types = setup_.weights;
  switch (part) {
    case router:
      return types.router;
    case head:
      return types.head;
    case expert_up:
    case expert_down:
      return types.experts;
    case up:
    case down:
    case shared_up:
    case shared_down:
      return types.mlp;
    case latent_down:
      return std::nullopt;
    default:
      return types.attention;
  }
}

npu::ProductSpec LayerShapes::product_of(Part part, std::uint64_t rows) const {
  npu::ProductSpec spec = plain_product_of(part, rows);
  spec.stored = stored(part);
  return spec;
}

npu::ProductSpec LayerShapes::plain_product_of(Part part, std::uint64_t rows) const {
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
      spec = product(rows, hidden, heads_ * shape_.value_width());
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
    case shared_up:
      spec = product(rows, up_columns(shared_ffn()), hidden);
      if (shape_.mlp != workload::Activation::swiglu) {
        spec.then = vector_work(shape_.mlp == workload::Activation::relu ? "relu" : "gelu");
      }
      return spec;
    case shared_down:
      return product(rows, hidden, quotient_up(shared_ffn(), tensor_));
    case ssm_input:
      spec = product(rows, state_space_->projected(), hidden);
      spec.bias = false;
      return spec;
    case ssm_output:
      spec = product(rows, hidden, state_space_->inner());
      spec.bias = false;
      spec.residuals = tensor_ == 1 ? 1 : 0;
      return spec;
    case latent_down:
    case query_up:
    case absorb:
    case value_up:
      return latent_product(part, rows);
    default:
      spec = product(rows, quotient_up(shape_.vocabulary, tensor_), hidden);
      spec.bias = false;
      return spec;
  }
}

std::uint64_t LayerShapes::joined(Part base) const {
  const bool gated = shape_.mlp == workload::Activation::swiglu;
  return base == qkv ? 3 : base == up && gated ? 2 : 1;
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
npu::ProductSpec LayerShapes::latent_product(Part part, std::uint64_t rows) const {
  const workload::LatentShape& latent = *shape_.latent;
  npu::ProductSpec spec;
  switch (part) {
    case latent_down:  // whole in each unit, as norms
      spec.shape = {rows, latent.q_rank + latent.kv_rank + latent.rope_width, shape_.hidden, 1};
      return spec;
    case query_up:
      spec.shape = {rows, heads_ * latent.key_width(),
                    latent.q_rank > 0 ? latent.q_rank : shape_.hidden, 1};
      break;
    case absorb:
      spec.shape = {rows, latent.kv_rank, latent.nope_width, heads_};
      break;
    default:
      spec.shape = {rows, latent.value_width, latent.kv_rank, heads_};
      break;
  }
  return spec;
}

npu::StreamSpec LayerShapes::norm(std::uint64_t rows, std::uint64_t columns, bool skip) const {
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

npu::StreamSpec LayerShapes::gate_of(std::uint64_t rows, std::uint64_t columns) const {
  npu::StreamSpec spec;
  spec.rows = rows;
  spec.columns = columns;
  spec.inputs = {{"gate", 0, columns, 1, 1, false}, {"up", 0, columns, 1, 1, false}};
  spec.work = vector_work("silu") + vector_work("mul");
  return spec;
}

npu::StreamSpec LayerShapes::stream_of(Part part, std::uint64_t rows) const {
  npu::StreamSpec spec;
  switch (part) {
    case norm_in:
    case norm_mid:
    case last_norm:
      return norm(rows, shape_.hidden, tensor_ > 1 || (part == norm_in && shape_.experts));
    case latent_norm:
      return norm(rows, shape_.latent->q_rank + shape_.latent->kv_rank, false);
    case gate:
      return gate_of(rows, quotient_up(shape_.ffn, tensor_));
    case expert_gate:
      return gate_of(
          quotient_up(rows * shape_.experts->top_k, experts_of(rows)) * own_experts_of(rows),
          quotient_up(shape_.experts->ffn, tensor_));
    case shared_gate:
      return gate_of(rows, quotient_up(shared_ffn(), tensor_));
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
  return spec;
}

SequenceGroup LayerShapes::in_window(const SequenceGroup& group) const {
  const std::uint64_t seen =
      quotient_up(shape_.window + group.queries - 1, setup_.block) * setup_.block;
  return {group.sequences, group.queries,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(group.keys, seen))};
}

}  // namespace tessera::serving
