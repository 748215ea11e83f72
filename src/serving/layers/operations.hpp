// Operators of a layer as operations of one tile: the shapes of layers/shapes.hpp, the FLOPs of
// layers/flops.hpp, and each operand's bytes once.
#pragma once

#include "layers/flops.hpp"
#include "layers/shapes.hpp"
#include "tessera/serving/tile_model.hpp"

namespace tessera::serving {

class LayerOperations {
 public:
  explicit LayerOperations(const LanguageSetup& setup) : shapes_(setup), flops_(setup.shape) {}

  TileOperation make(Part part, const StepSizes& sizes) const;
  // What of the sizes an operator depends on; the others are zero.
  static StepSizes needed(Part part, const StepSizes& sizes);

 private:
  TileOperation of_state_space(Part part, const StepSizes& sizes) const;
  // The type of its product, if it is one.
  DataType multiplied_in(Part part) const;
  TileOperation product(Part part, std::uint64_t rows) const;
  TileOperation write_cache(std::uint64_t tokens) const;
  TileOperation stream(Part part, std::uint64_t rows) const;
  TileOperation of_adapters(Part part, const StepSizes& sizes) const;
  // Of a layer that sees all, or by StepSizes::in_window of one with a window.
  TileOperation attention(const StepSizes& sizes) const;
  // Of all sequences of the sizes in one.
  workload::Operation attention_of(const StepSizes& sizes) const;
  // Of what is done to each element beside products, by one unit.
  Wide vector_flops(Part part, std::uint64_t rows, bool adds_skipped) const;

  LayerShapes shapes_;
  LayerFlops flops_;
};

}  // namespace tessera::serving
