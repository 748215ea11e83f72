// What `tessera check` says of tensors.
#pragma once

#include <string>

#include "tessera/workload/tensors.hpp"

namespace tessera::sim {

// At which NPUs tensors are local and at which remote, what the memories of NPUs hold, and what the
// memories beyond them do.
std::string tensor_tables(const workload::TensorPlacement& placement);

}  // namespace tessera::sim
