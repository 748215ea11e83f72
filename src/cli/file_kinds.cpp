#include "file_kinds.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/campaign.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/sim/sections.hpp"

namespace tessera::cli {
std::vector<std::string> file_kinds() {
  std::vector<std::string> kinds = sim::file_kinds();
  kinds.insert(kinds.end(), {"campaign", "sweep"});
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

SectionInfo sections_of_file(const std::string& kind) {
  const std::vector<std::string> known = file_kinds();
  if (std::find(known.begin(), known.end(), kind) == known.end()) {
    throw ConfigError(unknown_name("file", kind, known));
  }
  return kind == "campaign"
             ? section_of_keys("Tessera campaign", "", explore::campaign_parameters())
         : kind == "sweep" ? section_of_keys("Tessera sweep", "", explore::sweep_parameters())
                           : sim::sections_of_file(kind);
}

}  // namespace tessera::cli
