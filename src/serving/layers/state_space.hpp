// State-space layers (Mamba-2; T. Dao and A. Gu, arXiv:2405.21060) of a served model, as a unit of
// a cut model runs them: heads are cut over units, groups of heads too as long as there are some.
//
// What a sequence keeps in each such layer is the state of its heads, and the tokens that the
// convolution goes back to: as much however long it is. New tokens of prompts go through chunks
// (section 6 there: scores within a chunk, states of chunks, these from chunk to chunk, outputs),
// which begin at the first token of each; a sequence that takes one token in goes from state to
// state,
//     h = a h + (dt x) B^T,  y = h C,
// five FLOPs for each element of the state, which is read and written (`selective_state_update` of
// the code of that paper, as vLLM and SGLang run it).
#pragma once

#include <cstdint>
#include <vector>

#include "layers/flops.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/serving/tile_model.hpp"

namespace tessera::serving {

class StateSpace {
 public:
  // The shape has state-space layers.
  explicit StateSpace(const LanguageSetup& setup);

  // Of a unit.
  std::uint64_t inner() const { return heads_ * ssm_.head_width; }
  std::uint64_t convolved() const { return inner() + 2 * shared(); }
  // Numbers of vectors that go with the layers' products, in memory.
  std::uint64_t convolution_weights() const { return convolved() * (ssm_.kernel + 1); }
  // That a sequence keeps in a layer.
  Bytes kept() const { return state() + convolution_state(); }

  TileOperation convolution(const StepSizes& sizes, const LayerFlops& flops) const;
  TileOperation scan(const StepSizes& sizes, const LayerFlops& flops) const;
  TileOperation gate(std::uint64_t rows, const LayerFlops& flops) const;

 private:
  std::uint64_t shared() const { return groups_ * ssm_.state; }  // goes into states, or out of them
  std::uint64_t elements() const { return inner() * ssm_.state; }  // of the states of all heads
  Bytes state() const { return state_element_ * elements(); }
  Bytes convolution_state() const { return element_ * (convolved() * (ssm_.kernel - 1)); }
  std::vector<workload::Operation> of_prompts(const StepSizes& sizes,
                                              const LayerFlops& flops) const;
  workload::Operation of_generating(const StepSizes& sizes, const LayerFlops& flops) const;
  Wide cut(std::uint64_t flops) const;

  workload::SsmShape ssm_;
  std::uint64_t tensor_;
  DataType data_type_;
  Bytes element_;
  Bytes state_element_;
  std::uint64_t heads_;
  std::uint64_t groups_;
};

}  // namespace tessera::serving
