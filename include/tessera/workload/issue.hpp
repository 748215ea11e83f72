// How a host gets to an operation, for compute models in which hosts issue them on their own.
#pragma once

#include <cstdint>

namespace tessera::workload {

struct Issue {
  std::uint32_t others = 0;  // collectives and messages issued since the operation before
  bool waits = true;    // it has waited for what came before; else it may be ahead of the device
  bool begins = false;  // the first of a pass of a micro-batch through the stage
};

}  // namespace tessera::workload
