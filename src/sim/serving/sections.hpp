// What the mapping of the workload `serving` may hold, for schemas: WorkKind::describe.
#pragma once

#include "tessera/core/section_info.hpp"

namespace tessera::sim {

SectionInfo describe_serving(const PartInfo& kind);

}  // namespace tessera::sim
