#include "tessera/sim/cuts/cut_workload.hpp"

#include <string>
#include <vector>

#include "jobs/several.hpp"
#include "jobs/uncut.hpp"
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

// Whether they are one job on the whole machine, as if it were no list.
bool is_whole_machine(const std::vector<JobEntry>& entries, config::Section& workload,
                      const Platform& platform) {
  if (entries.size() != 1) {
    std::vector<std::string> names;
    for (const JobEntry& entry : entries) {
      names.push_back(entry.name);
    }
    workload.error("kind", "a strategy is searched for one workload, and these are " +
                               several(std::move(names)) +
                               "; keep one of them in the list, or give it an experiment of its "
                               "own");
    return false;
  }
  const std::size_t all = platform.machine.topology->computing_nodes();
  config::Section section = entries.front().section;
  if (entries.front().tiles.size() < all) {
    section.error("tiles", "a strategy is searched for a whole machine, and these are " +
                               std::to_string(entries.front().tiles.size()) + " of its " +
                               std::to_string(all) +
                               " tiles; take all, or a machine of those tiles alone");
    return false;
  }
  if (entries.front().tiles != platform.machine.topology->computing_node_ids()) {
    section.error("tiles",
                  "a strategy is searched for tiles in the order of the machine, and "
                  "these have an order of their own; take all");
    return false;
  }
  return true;
}

}  // namespace

std::optional<config::Section> section_to_cut(config::Section experiment,
                                              const Platform* platform) {
  config::Section workload = experiment.section("workload");
  const WorkKind* const kind = find_work_kind(kind_of(experiment.raw("workload")));
  if (kind == nullptr || !kind->list) {
    return experiment;
  }
  refuse_cutting(experiment, "each tenant has its own, beside its workload");
  std::vector<JobEntry> entries;
  if (platform == nullptr || !kind->list(experiment, *platform, entries) || entries.empty() ||
      entries.front().tiles.empty() || !is_whole_machine(entries, workload, *platform)) {
    return std::nullopt;
  }
  return entries.front().section;
}

std::size_t tiles_of_single_job(config::Section experiment, const Platform& platform) {
  const WorkKind* const kind = find_work_kind(kind_of(experiment.raw("workload")));
  std::vector<JobEntry> entries;
  if (kind != nullptr && kind->list) {
    kind->list(experiment, platform, entries);
  }
  return entries.size() == 1 ? entries.front().tiles.size()
                             : platform.machine.topology->computing_nodes();
}

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
