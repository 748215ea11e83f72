// Widths of attention as it is served.
#pragma once

#include <cstdint>

#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::serving {

// Widths of what a query of served attention is multiplied with, and of what it gathers: with
// latent attention those of the latent space.
inline std::uint64_t served_key_width(const workload::TransformerShape& shape) {
  return shape.latent ? shape.latent->kv_rank + shape.latent->rope_width : shape.head_width;
}
inline std::uint64_t served_value_width(const workload::TransformerShape& shape) {
  return shape.latent ? shape.latent->kv_rank : shape.head_width;
}

}  // namespace tessera::serving
