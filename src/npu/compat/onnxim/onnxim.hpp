// What the public code of ONNXim does (H. Ham et al., IEEE CAL 23(2), 2024): sizes of tiles by
// Gemmini's heuristics, the order of instructions, addresses, and the timing of the array.
#pragma once

#include "tiling_rule.hpp"

namespace tessera::npu {

const TilingRule& onnxim_tiling();
// Sets the timing of a core whose array is known.
void time_as_onnxim(CoreConfig& core);

std::optional<ProductTiles> onnxim_product(const ProductShape& shape, const StoredWeights& weights,
                                           const Target& target);
std::optional<ConvolutionTiles> onnxim_convolution(const ConvolutionShape& shape,
                                                   const StoredWeights& weights,
                                                   const Target& target);

}  // namespace tessera::npu
