#include "tessera/sim/job.hpp"

#include <algorithm>
#include <map>

#include "jobs/families.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

void add(std::vector<PartInfo> some, std::vector<PartInfo>& all) {
  all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
}

}  // namespace

std::optional<Bytes> ServingMemory::free(std::uint32_t channel) const {
  const Bytes capacity = (*channels_)[channel].capacity;
  const auto taken = taken_.find(channel);
  return capacity == Bytes()
             ? std::nullopt
             : std::optional(taken == taken_.end() ? capacity : capacity - taken->second);
}

std::shared_ptr<const workload::GraphSource> Job::graphs(const Platform& /*platform*/) const {
  throw ConfigError("work of this kind is no graph of operators on accelerators");
}

SparseTable Job::cut(const Platform& /*platform*/, int /*ranks*/,
                     const machine::Weights& /*weights*/) const {
  throw InternalError("a job without a cutter was asked to cut");
}

Registry<WorkKind>& work_kinds() {
  static Registry<WorkKind> kinds("workload");
  return kinds;
}

std::vector<WorkFamily>& work_families() {
  static std::vector<WorkFamily> families;
  return families;
}

FamilyRegistration::FamilyRegistration(WorkFamily family) {
  work_families().push_back(std::move(family));
}

std::vector<PartInfo> work_kind_infos() {
  std::vector<PartInfo> all = work_kinds().infos();
  for (const WorkFamily& family : work_families()) {
    add(family.parts().infos(), all);
  }
  std::sort(all.begin(), all.end(),
            [](const PartInfo& a, const PartInfo& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> work_kind_names() {
  std::vector<std::string> names;
  for (const PartInfo& info : work_kind_infos()) {
    names.push_back(info.name);
  }
  return names;
}

std::vector<PartList> work_part_lists() {
  std::map<std::string, PartList> all;
  for (const std::string& name : work_kind_names()) {
    for (const PartList& list : find_work_kind(name)->lists) {
      all.emplace(list.name, list);
    }
  }
  std::vector<PartList> lists;
  for (auto& [name, list] : all) {
    lists.push_back(std::move(list));
  }
  return lists;
}

const WorkKind* find_work_kind(const std::string& name) {
  if (work_kinds().contains(name)) {
    return &work_kinds().at(name);
  }
  const std::vector<WorkFamily>& families = work_families();
  const auto family = std::find_if(families.begin(), families.end(), [&](const WorkFamily& each) {
    return each.parts().contains(name);
  });
  return family == families.end() ? nullptr : &family->kind;
}

std::string kind_of(const config::Value& workload) {
  const config::Value::Member* const kind = workload.find("kind");
  return kind == nullptr ? "" : kind->value.text;
}

}  // namespace tessera::sim
