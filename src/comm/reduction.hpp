// The arithmetic of the reductions, common to threads and MPI.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/comm/communicator.hpp"

namespace tessera::comm {

// Minimum of the times and sum of the counts, the latter modulo 2^64.
inline MinSum min_sum(const MinSum& a, const MinSum& b) {
  const auto sum = static_cast<std::uint64_t>(a.count) + static_cast<std::uint64_t>(b.count);
  return {std::min(a.earliest, b.earliest), static_cast<std::int64_t>(sum)};
}

}  // namespace tessera::comm
