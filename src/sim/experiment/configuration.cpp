// The configuration of an experiment as given: its files put together.
#include <algorithm>

#include "experiment/parts.hpp"
#include "programs/placement_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Value;

Value::Member* member(Value& mapping, std::string_view key) {
  for (Value::Member& entry : mapping.members) {
    if (entry.key == key) {
      return &entry;
    }
  }
  return nullptr;
}

// Replaces `machine: file.yaml` and the like by what is in the file.
void include_parts(Value& root, const config::TextLoader& load, Diagnostics& diagnostics) {
  for (const char* key : experiment_parts) {
    Value::Member* part = member(root, key);
    if (part == nullptr || part->value.kind != Value::Kind::scalar) {
      continue;
    }
    Value* const value = &part->value;
    const std::string path = config::path_beside(value->place, value->text);
    std::string text;
    try {
      text = load(path);
    } catch (const IoError& error) {
      diagnostics.error(value->place, std::string(key) + ": " + error.what());
      *value = Value{};
      continue;
    }
    const std::size_t complaints = diagnostics.list().size();
    *value = config::parse(path, text, diagnostics);
    if (value->kind == Value::Kind::null && diagnostics.list().size() == complaints) {
      diagnostics.error({path, 1, 1}, std::string(key) + ": the file is empty");
    }
    part->key_place = {path, 1, 1};  // what is missing is missing there
  }
}

// The mappings of several jobs, if that is what the workload is.
std::vector<Value*> jobs_in(Value& root) {
  Value* const workload = value_of(&root, "workload");
  const WorkKind* const kind = workload == nullptr ? nullptr : find_work_kind(kind_of(*workload));
  return kind != nullptr && kind->jobs ? kind->jobs(*workload) : std::vector<Value*>{};
}

// What stands in files that the mapping of a job names.
void include_files_of(Value& job, const config::TextLoader& load, Diagnostics& diagnostics) {
  include_placement(job, load, diagnostics);
  Value* const workload = value_of(&job, "workload");
  const WorkKind* const kind = workload == nullptr ? nullptr : find_work_kind(kind_of(*workload));
  if (kind != nullptr && kind->include) {
    kind->include(job, load, diagnostics);
  }
}

bool names_a_part(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  return std::find(experiment_parts.begin(), experiment_parts.end(), key) != experiment_parts.end();
}

// Whether it sets a key within a part of one of a list of jobs, which may stand in a file.
bool is_within_a_part_of_a_job(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  const std::size_t list = key.find('.');
  return list != std::string::npos && key.starts_with("workload.") &&
         std::any_of(experiment_parts.begin(), experiment_parts.end(), [&](const char* part) {
           return key.find("." + std::string(part) + ".", list) != std::string::npos;
         });
}

void apply_overrides(Value& root, const std::vector<std::string>& overrides,
                     bool (*is_meant)(const std::string&), Diagnostics& diagnostics) {
  for (const std::string& assignment : overrides) {
    if (is_meant(assignment)) {
      config::apply_override(root, assignment, diagnostics);
    }
  }
}

// Its parts in place of those of the experiment.
void put_in_place(Value job, Value& root) {
  for (const char* const key : {"workload", "strategy", "execution"}) {
    std::erase_if(root.members, [&](const Value::Member& entry) { return entry.key == key; });
    if (Value::Member* const own = member(job, key)) {
      root.members.push_back(std::move(*own));
    }
  }
}

}  // namespace

config::Value read_configuration(const std::string& path, const std::vector<std::string>& overrides,
                                 const config::TextLoader& load) {
  Diagnostics diagnostics;
  Value root = config::parse(path, config::load_named(path, load), diagnostics);
  if (root.kind == Value::Kind::null && diagnostics.empty()) {
    diagnostics.error({path, 1, 1},
                      "the file is empty; an experiment names machine, workload and "
                      "strategy");
  }
  diagnostics.throw_if_any();
  apply_overrides(root, overrides, names_a_part, diagnostics);
  include_parts(root, load, diagnostics);
  const auto comes_first = [](const std::string& assignment) {
    return !names_a_part(assignment) && !is_within_a_part_of_a_job(assignment);
  };
  apply_overrides(root, overrides, comes_first, diagnostics);
  for (Value* const job : jobs_in(root)) {
    include_parts(*job, load, diagnostics);
  }
  apply_overrides(root, overrides, is_within_a_part_of_a_job, diagnostics);
  include_files_of(root, load, diagnostics);
  for (Value* const job : jobs_in(root)) {
    include_files_of(*job, load, diagnostics);
  }
  diagnostics.throw_if_any();
  return root;
}

std::string path_of_single_job(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load) {
  Value root = read_configuration(path, overrides, load);
  return jobs_in(root).size() == 1 ? "workload.tenants.0." : "";
}

config::Value read_single_job(const std::string& path, const std::vector<std::string>& overrides,
                              const std::vector<std::string>& settings,
                              const config::TextLoader& load) {
  Value root = read_configuration(path, overrides, load);
  const std::vector<Value*> jobs = jobs_in(root);
  if (jobs.size() != 1) {
    std::vector<std::string> all = overrides;
    all.insert(all.end(), settings.begin(), settings.end());
    return settings.empty() ? root : read_configuration(path, all, load);
  }
  put_in_place(std::move(*jobs.front()), root);
  Diagnostics diagnostics;
  for (const std::string& assignment : settings) {
    config::apply_override(root, assignment, diagnostics);
  }
  diagnostics.throw_if_any();
  return root;
}

}  // namespace tessera::sim
