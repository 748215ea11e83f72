// Running sums over layers: what a run of them has is the difference of two.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/plan/outline.hpp"

namespace tessera::explore {

// `before[l]`: of the layers before l. What those from `first` on, before `end`, have.
template <class T>
T between(const std::vector<T>& before, std::size_t first, std::size_t end) {
  return before[end] - before[first];
}

inline plan::LayerState between(const std::vector<plan::LayerState>& before, std::size_t first,
                                std::size_t end) {
  const plan::LayerState& a = before[first];
  const plan::LayerState& b = before[end];
  return {b.weights - a.weights,
          b.gradients - a.gradients,
          b.optimizer - a.optimizer,
          b.stored - a.stored,
          b.sent_weights - a.sent_weights,
          b.sent_expert_weights - a.sent_expert_weights,
          b.sent_gradients - a.sent_gradients,
          b.sent_expert_gradients - a.sent_expert_gradients,
          b.dense_gradients - a.dense_gradients,
          b.expert_gradients - a.expert_gradients,
          b.whole_gradients - a.whole_gradients,
          b.updated_weights - a.updated_weights,
          b.updated_gradients - a.updated_gradients,
          b.boundary - a.boundary};
}

}  // namespace tessera::explore
