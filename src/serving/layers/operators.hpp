// Operators of a layer on NPU cores: how they are cut over cores, and where their operands lie.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "layers/shapes.hpp"

namespace tessera::serving {

class LayerOperators {
 public:
  // The setup has a core.
  explicit LayerOperators(const LanguageSetup& setup);

  // `shape`: of attention the code of a group of sequences, of all others rows.
  std::shared_ptr<const npu::TiledOperator> make(Part part, std::uint64_t shape,
                                                 std::uint64_t cores) const;
  // From the first operand of a layer, and of all of a layer [B].
  std::uint64_t operand_begin(std::uint32_t part, std::uint8_t operand) const {
    return begins_[part][operand];
  }
  std::uint64_t layer_bytes() const { return layer_bytes_; }

 private:
  void place_operands();

  LayerShapes shapes_;
  std::array<std::array<std::uint64_t, npu::most_operands>, part_count> begins_{};
  std::uint64_t layer_bytes_ = 0;
};

}  // namespace tessera::serving
