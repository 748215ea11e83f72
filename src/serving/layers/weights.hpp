// What the units of a cut language model keep as weights: the parameters of
// workload::transformer_layers, each unit its shards.
#pragma once

#include <vector>

#include "tessera/serving/language_model.hpp"

namespace tessera::serving {

// [stages] of one unit. Norms, the router, positions and the biases of products that are cut by
// depth are whole at each; a stage that ends with a head tied to the embedding of another keeps a
// copy of it.
std::vector<Bytes> weights_of_stages(const LanguageSetup& setup);

// The stage of a layer, as even as can be.
inline std::uint32_t stage_of(const LanguageSetup& setup, std::uint64_t layer) {
  return static_cast<std::uint32_t>(layer * setup.pipeline / setup.shape.layers);
}

}  // namespace tessera::serving
