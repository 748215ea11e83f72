#include "tiling_rule.hpp"

#include "compat/onnxim/onnxim.hpp"

namespace tessera::npu {

std::optional<ProductTiles> TilingRule::product(const ProductShape& /*shape*/,
                                                const StoredWeights& /*weights*/,
                                                const Target& /*target*/) const {
  return std::nullopt;
}

std::optional<ConvolutionTiles> TilingRule::convolution(const ConvolutionShape& /*shape*/,
                                                        const StoredWeights& /*weights*/,
                                                        const Target& /*target*/) const {
  return std::nullopt;
}

const TilingRule& tiling_rule(Tiling tiling) {
  static const TilingRule fitted;
  return tiling == Tiling::onnxim ? onnxim_tiling() : fitted;
}

}  // namespace tessera::npu
