// Parts of a step: operators of a layer of a language model, of what stands before and behind the
// layers, and exchanges among them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/serving/language_model.hpp"
#include "tessera/serving/served_model.hpp"

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
  // Rotary positions of queries and keys; and, on tiles, new keys and values put into the cache.
  rotary,
  cache_write,
  // Norms of queries and keys, before the positions.
  query_key_norm,
  part_count
};
// Cores that share an operator begin with another one by its number, so that those of a model are
// what they are without parts that it does not have: parts that came later are numbered in ranges
// of their own, each behind all layers of the one before.
struct PartRange {
  std::uint32_t first;  // part
  std::uint32_t end;
  std::uint32_t begin;  // number of the first layer's first
  constexpr std::uint32_t count() const { return end - first; }
};
inline constexpr PartRange first_parts{0, local_attention, 0};
inline constexpr PartRange second_parts{local_attention, query_key_norm, (most_layers + 1) * 36};
inline constexpr PartRange third_parts{query_key_norm, part_count,
                                       second_parts.begin + second_parts.count() * most_layers};
static_assert(first_parts.count() == 36);
static_assert(third_parts.begin + most_layers * third_parts.count() <= 1U << OperatorName::op_bits);

constexpr const PartRange& range_of_part(std::uint32_t part) {
  return part < second_parts.first  ? first_parts
         : part < third_parts.first ? second_parts
                                    : third_parts;
}
constexpr const PartRange& range_of_op(std::uint32_t op) {
  return op < second_parts.begin  ? first_parts
         : op < third_parts.begin ? second_parts
                                  : third_parts;
}
constexpr std::uint32_t op_of(std::uint64_t layer, std::uint32_t part) {
  const PartRange& range = range_of_part(part);
  return static_cast<std::uint32_t>(range.begin + layer * range.count() + (part - range.first));
}
constexpr Part part_of(std::uint32_t op) {
  const PartRange& range = range_of_op(op);
  return static_cast<Part>(range.first + (op - range.begin) % range.count());
}
constexpr std::uint32_t layer_of(std::uint32_t op) {
  const PartRange& range = range_of_op(op);
  return (op - range.begin) / range.count();
}

const std::vector<std::string>& part_names();

// The product that a part of an adapter stands behind; else the part itself.
Part adapted_part(Part part);

inline bool is_of_experts(Part part) {
  return part == expert_up || part == expert_gate || part == expert_down;
}

}  // namespace tessera::serving
