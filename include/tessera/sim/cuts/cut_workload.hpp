// The workloads that a strategy cuts, without a strategy: of kinds that read layers
// (WorkKind::layers).
#pragma once

#include <optional>

#include "tessera/config/document.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

// Reads the section `workload` and finishes it; nothing after complaints.
std::optional<workload::Workload> read_cut_workload(config::Section& workload);

}  // namespace tessera::sim
