#include "compat/onnxim/onnxim.hpp"

namespace tessera::npu {
namespace {

class OnnximTiling final : public TilingRule {
 public:
  std::optional<ProductTiles> product(const ProductShape& shape, const StoredWeights& weights,
                                      const Target& target) const override {
    return onnxim_product(shape, weights, target);
  }
  std::optional<ConvolutionTiles> convolution(const ConvolutionShape& shape,
                                              const StoredWeights& weights,
                                              const Target& target) const override {
    return onnxim_convolution(shape, weights, target);
  }
  bool joins_pixels() const override { return false; }  // its code has one at a time
};

}  // namespace

const TilingRule& onnxim_tiling() {
  static const OnnximTiling rule;
  return rule;
}

// core.hpp has the meaning.
void time_as_onnxim(CoreConfig& core) {
  core.timing = {4, 2 * core.rows - 1, core.rows + core.columns - 2, false};
  core.waits_for_stores = false;
}

}  // namespace tessera::npu
