// Fills the memories of NPUs with tensors.
#pragma once

#include <string>
#include <vector>

#include "tessera/workload/tensors.hpp"

namespace tessera::workload {

// Each NPU's own memory takes tensors in the order of falling priority, then of `first_use`
// [tensors], then as given: each that still fits whole is local, so that a later small one may be
// where an earlier large one is not. Others go to the NPU's holder. A capacity that is not stated
// is unlimited. Cost: NPUs times tensors. "" or which memory is too small; `culprit` is the first
// tensor beyond it.
std::string place_tensors(const std::vector<std::uint32_t>& first_use, TensorPlacement& placement,
                          std::uint32_t& culprit);

}  // namespace tessera::workload
