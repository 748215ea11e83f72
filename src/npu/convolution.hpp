// A convolution as an operator.
#pragma once

#include <memory>
#include <string>

#include "convolution_tiling.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

struct ConvolutionSpec {
  ConvolutionShape shape;
  bool bias = false;
  bool residual = false;
  std::string then;
};

std::unique_ptr<TiledOperator> make_convolution(const ConvolutionSpec& spec,
                                                const ConvolutionTiles& tiles,
                                                const Target& target);

}  // namespace tessera::npu
