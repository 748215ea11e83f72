// What the shares of a breakdown are shares of.
#pragma once

#include "tessera/trace/summary.hpp"

namespace tessera::trace {

// Time of all activities [ps]. In floating point, as it may leave 64 bits and is only divided by.
inline double sum_of(const Breakdown& breakdown) {
  double sum = 0;
  for (const auto& [activity, mean_ps] : breakdown.mean_ps) {
    sum += static_cast<double>(mean_ps);
  }
  return sum;
}

}  // namespace tessera::trace
