// Operators of a layer of a language model (language_model.hpp), and of what stands before and
// behind the layers, as shapes: what a unit of a cut model multiplies, streams and attends to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/state_space.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

// Operators of a layer; those that stand before and behind the layers are of the layer after the
// last one.
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
  // Of latent attention: what goes into the latent vectors, norms of these, queries out of one; of
  // the other it is neither keys nor values that come out, but queries are turned into its space,
  // and what they have gathered out of it.
  latent_down,
  latent_norm,
  query_up,
  absorb,
  value_up,
  // Of experts that work on every token.
  shared_up,
  shared_gate,
  shared_down,
  // Of adapters, behind the products that they belong to: down to the rank, and up from it.
  qkv_shrink,
  qkv_expand,
  out_shrink,
  out_expand,
  up_shrink,
  up_expand,
  down_shrink,
  down_expand,
  // Of experts that are spread over units: tokens to these, and again what comes out back.
  swap_tokens,
  // Attention of layers with a window, and what state-space layers have in place of it, of qkv and
  // of out (layers/state_space.hpp).
  local_attention,
  ssm_input,
  ssm_convolution,
  ssm_scan,
  ssm_gate,
  ssm_output,
  part_count
};
// Cores that share an operator begin with another one by its number, so that those of models
// without windows and states are what they are without these: others are numbered behind all of
// them.
inline constexpr std::uint32_t parts = 36;
inline constexpr std::uint32_t later_parts = part_count - parts;
inline constexpr std::uint32_t first_later = (most_layers + 1) * parts;
static_assert(local_attention == parts);
static_assert(first_later + most_layers * later_parts <= 1U << OperatorName::op_bits);

constexpr std::uint32_t op_of(std::uint64_t layer, std::uint32_t part) {
  return static_cast<std::uint32_t>(
      part < parts ? layer * parts + part : first_later + layer * later_parts + (part - parts));
}
constexpr Part part_of(std::uint32_t op) {
  return static_cast<Part>(op < first_later ? op % parts
                                            : parts + (op - first_later) % later_parts);
}
constexpr std::uint32_t layer_of(std::uint32_t op) {
  return op < first_later ? op / parts : (op - first_later) / later_parts;
}

const std::vector<std::string>& part_names();

// The product that a part of an adapter stands behind; else the part itself.
Part adapted_part(Part part);

// A group of sequences in the bits of a shape.
inline constexpr unsigned query_bits = 13;
inline constexpr unsigned key_bits = 19;
static_assert(10 + query_bits + key_bits == OperatorName::shape_bits);
static_assert(most_sequences == 1U << 10 && most_queries == 1U << query_bits &&
              most_keys < 1U << key_bits);

std::uint64_t code_of(const SequenceGroup& group);
SequenceGroup group_of(std::uint64_t shape);

// How many of `count` experts are chosen by at least one of so many tokens, each of which chooses
// `top_k` different ones independently of the others and of which ones they are: an expert is
// passed over by a token with probability 1 - top_k / count. The expectation, rounded.
std::uint64_t experts_reached(std::uint64_t count, std::uint64_t top_k, std::uint64_t tokens);

class LayerShapes {
 public:
  explicit LayerShapes(const LanguageSetup& setup);

  const LanguageSetup& setup() const { return setup_; }
  const workload::TransformerShape& model() const { return shape_; }

  npu::ProductSpec product_of(Part part, std::uint64_t rows) const;
  // Matrices that a product joins, each of which has an adapter of its own.
  std::uint64_t joined(Part base) const;
  // Numbers of an adapter in a layer, of a unit.
  std::uint64_t adapter_numbers() const;
  npu::StreamSpec stream_of(Part part, std::uint64_t rows) const;
  npu::AttentionSpec attention_of(const SequenceGroup& group) const;
  // As layers with a window look at it: whole blocks that hold what it sees.
  SequenceGroup in_window(const SequenceGroup& group) const;

  std::uint64_t heads() const { return heads_; }  // of a unit, as the next
  std::uint64_t kv_heads() const { return kv_heads_; }
  const std::optional<StateSpace>& state_space() const { return state_space_; }
  Bytes cache_of_token() const {
    const Bytes of_key = element_size(setup_.key_type.value_or(shape_.data_type));
    if (shape_.latent) {
      return of_key * (shape_.latent->kv_rank + shape_.latent->rope_width);
    }
    const Bytes of_value = element_size(setup_.value_type.value_or(shape_.data_type));
    return (of_key + of_value) * (kv_heads_ * shape_.head_width);  // of a layer
  }
  Bytes element() const { return element_size(shape_.data_type); }
  // Of what a head's query is multiplied with in attention, and of what it gathers.
  std::uint64_t key_width() const {
    return shape_.latent ? shape_.latent->kv_rank + shape_.latent->rope_width : shape_.head_width;
  }
  std::uint64_t gathered_width() const {
    return shape_.latent ? shape_.latent->kv_rank : shape_.head_width;
  }
  // That so many tokens reach, and those of them that are on one unit.
  std::uint64_t experts_of(std::uint64_t rows) const {
    return experts_reached(shape_.experts->count, shape_.experts->top_k, rows);
  }
  std::uint64_t own_experts_of(std::uint64_t rows) const { return own(experts_of(rows)); }
  // What a unit has of so many tokens, or sequences.
  std::uint64_t own(std::uint64_t rows) const { return quotient_up(rows, setup_.expert); }

 private:
  std::uint64_t up_columns(std::uint64_t ffn) const;
  std::uint64_t shared_ffn() const { return shape_.experts->shared * shape_.experts->ffn; }
  npu::ProductSpec plain_product_of(Part part, std::uint64_t rows) const;
  // How its weights lie in memory.
  std::optional<npu::StoredWeights> stored(Part part) const;
  npu::ProductSpec product(std::uint64_t rows, std::uint64_t columns, std::uint64_t depth) const;
  npu::ProductSpec expert_product(std::uint64_t rows, std::uint64_t columns,
                                  std::uint64_t depth) const;
  npu::StreamSpec norm(std::uint64_t rows, std::uint64_t columns, bool skip) const;
  npu::ProductSpec latent_product(Part part, std::uint64_t rows) const;
  npu::StreamSpec gate_of(std::uint64_t rows, std::uint64_t columns) const;

  LanguageSetup setup_;
  workload::TransformerShape shape_;
  std::uint64_t tensor_;
  std::uint64_t heads_;
  std::uint64_t kv_heads_;
  std::optional<StateSpace> state_space_;
};

}  // namespace tessera::serving
