// Executors that measure something of which others know nothing: it comes into the summary under
// their own names.
#pragma once

#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::sim {

class Measures {
 public:
  virtual ~Measures() = default;
  // Of all ranks, the same on each; all of them ask, at the end of a run.
  virtual std::vector<trace::Measure> measured(comm::Communicator& communicator) const = 0;
};

}  // namespace tessera::sim
