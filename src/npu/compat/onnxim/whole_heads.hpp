// Attention with a tile for each head, as ONNXim has it for ONNX models.
#pragma once

#include <memory>

#include "tessera/npu/specs.hpp"

namespace tessera::npu {

// Null: a head does not fit in the core, or heads share keys.
std::unique_ptr<TiledOperator> make_whole_heads(const AttentionSpec& spec, const Target& target);

}  // namespace tessera::npu
