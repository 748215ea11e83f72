// How sizes of tiles are found other than by fitting them to the core: by rules of other programs,
// which are in compat/.
#pragma once

#include <optional>

#include "convolution/tiling.hpp"
#include "gemm/tiling.hpp"
#include "tessera/npu/core/core.hpp"

namespace tessera::npu {

class TilingRule {
 public:
  TilingRule() = default;
  virtual ~TilingRule() = default;
  TilingRule(const TilingRule&) = delete;
  TilingRule& operator=(const TilingRule&) = delete;

  // None: they are fitted. So says this class of all.
  virtual std::optional<ProductTiles> product(const ProductShape& shape,
                                              const StoredWeights& weights,
                                              const Target& target) const;
  virtual std::optional<ConvolutionTiles> convolution(const ConvolutionShape& shape,
                                                      const StoredWeights& weights,
                                                      const Target& target) const;
  // Whether fitted convolutions may have neighbours in a row of the kernel enter the array
  // together.
  virtual bool joins_pixels() const { return true; }
};

const TilingRule& tiling_rule(Tiling tiling);

}  // namespace tessera::npu
