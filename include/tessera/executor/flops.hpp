// Executors whose work finds out as it goes what it has to compute.
#pragma once

#include <vector>

#include "tessera/core/wide.hpp"

namespace tessera::executor {

class FindsFlops {
 public:
  virtual ~FindsFlops() = default;
  // FLOPs of each job, known beforehand by nobody; so far on this rank, the same list on every one.
  virtual std::vector<Wide> flops_found() const = 0;
};

}  // namespace tessera::executor
