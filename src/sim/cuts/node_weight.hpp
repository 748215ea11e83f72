// What a node weighs when a machine is cut.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/ids.hpp"

namespace tessera::sim {

using Weights = std::vector<std::uint32_t>;  // [nodes]; none: all weigh the same

inline std::uint64_t weight_of(const Weights& weights, EntityId node) {
  return weights.empty() ? 1 : weights[node.value()];
}

}  // namespace tessera::sim
