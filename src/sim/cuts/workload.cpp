#include "tessera/sim/cuts/cut_workload.hpp"

#include <string>
#include <vector>

#include "tessera/core/text.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/workload/keys.hpp"

namespace tessera::sim {
namespace {

std::vector<std::string> names_of_kinds_with_layers() {
  std::vector<std::string> names = work_kind_names();
  std::erase_if(names, [](const std::string& name) { return !find_work_kind(name)->layers; });
  return names;
}

}  // namespace

std::optional<workload::Workload> read_cut_workload(config::Section& workload) {
  const std::string kind = workload::kind_key(work_kind_names).read(workload);
  if (kind.empty()) {
    return std::nullopt;
  }
  if (!find_work_kind(kind)->layers) {
    workload.error("kind", "'" + kind + "' is no work that a strategy cuts, as " +
                               join(names_of_kinds_with_layers()) + " are");
    return std::nullopt;
  }
  return find_work_kind(kind)->layers(workload);
}

}  // namespace tessera::sim
