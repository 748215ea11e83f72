// What stands in the mapping of a job, for schemas: that of an experiment and of each tenant.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/core/section_info.hpp"

namespace tessera::sim {

// Whether the workload may be a list of jobs in turn.
enum class JobLists : std::uint8_t { allowed, refused };

// Of every kind, as it describes itself (WorkKind::describe).
SectionInfo workload_section(JobLists lists);
// The workload, and what stands beside it.
std::vector<SectionInfo> sections_of_jobs(JobLists lists);

}  // namespace tessera::sim
