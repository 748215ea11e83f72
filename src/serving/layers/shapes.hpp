// Operators of a layer of a language model (language_model.hpp), and of what stands before and
// behind the layers, as shapes: what a unit of a cut model multiplies, streams and attends to.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/parts.hpp"
#include "layers/served_widths.hpp"
#include "layers/sources.hpp"
#include "layers/state_space.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/npu/specs.hpp"
#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

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
  const PartSources& sources() const { return sources_; }

  bool is_product(Part part) const { return sources_.has_products(part); }
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
  // Of a layer; values are as wide as keys.
  Bytes cache_of_token() const {
    const npu::StoredWeights plain = npu::StoredWeights::plain(element());
    const npu::StoredWeights keys = setup_.stored_keys.value_or(plain);
    if (shape_.latent) {
      return Bytes(keys.bytes_of(cached_));
    }
    return Bytes(keys.bytes_of(cached_ / 2) +
                 setup_.stored_values.value_or(plain).bytes_of(cached_ / 2));
  }
  // As the products of a token make it, before it is in the cache.
  Bytes made_for_cache() const { return element() * cached_; }
  Bytes element() const { return element_size(shape_.data_type); }
  // Of what a head's query is multiplied with in attention, and of what it gathers.
  std::uint64_t key_width() const { return served_key_width(shape_); }
  std::uint64_t gathered_width() const { return served_value_width(shape_); }
  // That so many tokens reach, and those of them that are on one unit.
  std::uint64_t experts_of(std::uint64_t rows) const {
    return experts_reached(shape_.experts->count, shape_.experts->top_k, rows);
  }
  std::uint64_t own_experts_of(std::uint64_t rows) const { return own(experts_of(rows)); }
  // What a unit has of so many tokens, or sequences.
  std::uint64_t own(std::uint64_t rows) const { return quotient_up(rows, setup_.expert); }

 private:
  npu::ProductSpec product(std::uint64_t rows, const workload::Operator& op,
                           const workload::MatrixProduct& shard) const;
  npu::ProductSpec expert_product(std::uint64_t rows, std::uint64_t columns,
                                  std::uint64_t depth) const;
  npu::StreamSpec norm(std::uint64_t rows, Part part, bool skip) const;
  npu::StreamSpec head_norms(std::uint64_t rows) const;
  npu::ProductSpec absorbed(Part part, std::uint64_t rows) const;
  // How the weights of a part's products lie together.
  std::optional<npu::StoredWeights> stored_together(Part part) const;
  std::optional<npu::VectorWork> work_behind(Part part) const;
  npu::StreamSpec turned(std::uint64_t rows) const;
  npu::StreamSpec looked_up(std::uint64_t rows) const;
  npu::StreamSpec gate_of(std::uint64_t rows, Part product) const;

  LanguageSetup setup_;
  workload::TransformerShape shape_;
  std::uint64_t tensor_;
  std::uint64_t heads_;
  std::uint64_t kv_heads_;
  PartSources sources_;
  std::array<std::optional<npu::StoredWeights>, part_count> stored_{};  // [Part] of its products
  std::uint64_t cached_ = 0;  // numbers of a token in a layer's cache, of a unit
  std::optional<StateSpace> state_space_;
};

}  // namespace tessera::serving
