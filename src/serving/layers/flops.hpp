// FLOPs of a language model's operators, as workload::transformer_layers counts them. Of all but
// attention they are so many a token, whatever else is in the batch; copies of tokens at experts
// are as many as tokens go there, without what an uneven spread leaves idle.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tessera/core/wide.hpp"
#include "tessera/serving/step_sizes.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::serving {

class LayerFlops {
 public:
  explicit LayerFlops(const workload::TransformerShape& shape);

  // Of an operator by its name there, a token, not cut; 0: there is none.
  std::uint64_t of_token(const std::string& name) const;
  // Of one layer's attention of so many heads; of latent attention with the latent vectors. Of
  // layers with a window by StepSizes::in_window.
  Wide of_attention(const StepSizes& sizes, std::uint64_t heads) const;
  // Of an element of a state that goes on by one token: state_space.hpp.
  static constexpr std::uint64_t of_update = 5;
  // Of what depends on chunks and states in all of a state-space layer.
  Wide of_scan(const StepSizes& sizes) const;
  // All of a step; choosing tokens is not counted.
  Wide of_step(const StepSizes& sizes) const;

 private:
  workload::TransformerShape shape_;
  std::map<std::string, std::uint64_t> of_name_;
  std::array<std::uint64_t, 4> mixers_{};  // [workload::Mixer] layers
  std::uint64_t head_ = 0;                 // a token that gives the next one
  std::uint64_t all_ = 0;                  // embedding and layers without attention, a token
};

}  // namespace tessera::serving
