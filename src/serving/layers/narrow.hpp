// FLOPs and bytes of an operator, summed up wide, as operations have them.
#pragma once

#include <cstdint>
#include <limits>

#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::serving {

// Throws ModelError beyond 2^63.
inline std::uint64_t narrow(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw ModelError("an operator of a step of requests has more than 2^63 FLOPs or bytes");
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace tessera::serving
