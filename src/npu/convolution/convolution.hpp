// A convolution whose windows the array reads in place.
#pragma once

#include <memory>

#include "convolution/tiling.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {

std::unique_ptr<TiledOperator> make_convolution(const ConvolutionSpec& spec,
                                                const ConvolutionTiles& tiles,
                                                const Target& target);

}  // namespace tessera::npu
