// What compute models have in common: traffic, and work that is no matrix product.
#pragma once

#include <algorithm>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

// Bandwidth 0: never the limit.
inline SimTime traffic_time(Bytes bytes, Bandwidth bandwidth) {
  return bandwidth > Bandwidth() ? serialization_time(bytes, bandwidth) : SimTime::zero();
}

// The longer of arithmetic and traffic.
inline SimTime vector_time(const workload::Operation& operation, FlopRate rate, Bandwidth memory) {
  return std::max(execution_time(operation.flops, rate), traffic_time(operation.bytes, memory));
}

}  // namespace tessera::compute
