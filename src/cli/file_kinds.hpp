// Kinds of files that Tessera reads, of experiments and of what runs many of them.
#pragma once

#include <string>
#include <vector>

#include "tessera/core/section_info.hpp"

namespace tessera::cli {

// Those of sim::file_kinds(), "campaign" and "sweep".
std::vector<std::string> file_kinds();
// Throws ConfigError for a kind that there is not.
SectionInfo sections_of_file(const std::string& kind);

}  // namespace tessera::cli
