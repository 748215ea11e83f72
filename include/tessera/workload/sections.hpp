// What mappings of kinds of work may hold, for schemas, where that is more than a list of keys.
#pragma once

#include <functional>

#include "tessera/core/registry.hpp"
#include "tessera/core/section_info.hpp"

namespace tessera::workload {

using SectionMaker = std::function<SectionInfo(const PartInfo& kind)>;

// By the name of the kind, of workloads() or graph_workloads(), beside whose registration theirs
// stands. A kind that is not there has the parameters that it registered with, and nothing else.
Registry<SectionMaker>& sections_of_kinds();

// Of a kind of either registry.
SectionInfo section_of_kind(const PartInfo& kind);

}  // namespace tessera::workload
