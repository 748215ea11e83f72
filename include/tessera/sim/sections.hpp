// What may stand in the files that Tessera reads, section by section, made from what parts declare.
#pragma once

#include <string>
#include <vector>

#include "tessera/core/section_info.hpp"

namespace tessera::sim {

// Kinds of files: "dram", "experiment", "machine", "strategy", "traffic", "workload".
std::vector<std::string> file_kinds();
// Throws ConfigError for a kind that there is not.
SectionInfo sections_of_file(const std::string& kind);

}  // namespace tessera::sim
