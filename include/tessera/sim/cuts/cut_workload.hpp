// The workloads that a strategy cuts, without a strategy: of kinds that read layers
// (WorkKind::layers).
#pragma once

#include <optional>

#include "tessera/config/document.hpp"
#include "tessera/sim/platform.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

// The section that has the workload for which a strategy is searched: the experiment's own, or that
// of the only job of its list, on the whole machine. Only the machine of the platform is asked;
// null: it could not be read, and a list gives nothing. Nothing also after complaints, as that a
// list has several.
std::optional<config::Section> section_to_cut(config::Section experiment, const Platform* platform);

// How many tiles the experiment's only job has, alone or in a list of one. Complaints about the
// list go to the diagnostics of the section.
std::size_t tiles_of_single_job(config::Section experiment, const Platform& platform);

// Reads the section `workload` and finishes it; nothing after complaints.
std::optional<workload::Workload> read_cut_workload(config::Section& workload);

}  // namespace tessera::sim
