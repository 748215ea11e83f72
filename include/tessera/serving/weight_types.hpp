// How the products of a language model lie in memory, each class of them as it is stored in
// checkpoints of few bits: experts in fp4 beside attention in bf16, say.
#pragma once

#include <optional>
#include <string_view>

#include "tessera/npu/stored_weights.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::serving {

// None: of the model's data type, as norms, biases and the table of the vocabulary always are.
struct WeightTypes {
  // Queries, keys, values and outputs, also of latent attention; inputs and outputs of state-space
  // layers.
  std::optional<npu::StoredWeights> attention{};
  std::optional<npu::StoredWeights> mlp{};      // and experts that work on every token
  std::optional<npu::StoredWeights> experts{};  // that tokens choose
  std::optional<npu::StoredWeights> router{};
  std::optional<npu::StoredWeights> head{};  // that gives the logits; none where it is tied

  // Of all products of layers but the router.
  static WeightTypes of_layers(const std::optional<npu::StoredWeights>& stored) {
    return {stored, stored, stored, std::nullopt, std::nullopt};
  }
};

// Whether the model has products whose weights lie as one of these says.
bool count_in(const WeightTypes& types, const workload::TransformerShape& shape);

}  // namespace tessera::serving
