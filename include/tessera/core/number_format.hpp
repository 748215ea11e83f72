// How numbers lie in memory and on wires: their type, and the scales that blocks of neighbours
// share.
//
// Types of 8 bits have too few exponents for a whole tensor, so that each block of it has a scale:
//   mxfp8   32 neighbours with a power of two in 8 bits (E8M0): Open Compute Project, "OCP
//           Microscaling Formats (MX) Specification", version 1.0, section 5.2, table 1
//   blocks  of activations 1 x 128 elements and of weights 128 x 128, each with an fp32 number:
//           DeepSeek-AI, "DeepSeek-V3 technical report", arXiv:2412.19437, section 3.3.2
#pragma once

#include <cstdint>

#include "tessera/core/data_type.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/units.hpp"

namespace tessera {

struct NumberFormat {
  DataType type = DataType::fp16;
  std::uint64_t group_size = 0;  // neighbours that share a scale; 0: there are no scales
  Bytes scale{};

  // Scales rounded up to whole ones.
  Bytes bytes_of(std::uint64_t elements) const {
    const Bytes numbers = element_size(type) * elements;
    return group_size == 0 ? numbers : numbers + scale * quotient_up(elements, group_size);
  }
  friend bool operator==(const NumberFormat&, const NumberFormat&) = default;
};

// With the scales that the type itself has, none but of mxfp8.
constexpr NumberFormat format_of(DataType type) {
  constexpr std::uint64_t block = 32;
  return type == DataType::mxfp8 ? NumberFormat{type, block, Bytes(1)}
                                 : NumberFormat{type, 0, Bytes()};
}

}  // namespace tessera
