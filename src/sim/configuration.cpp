// The configuration of an experiment as given: its files put together.
#include <algorithm>

#include "experiment_parts.hpp"
#include "placement_file.hpp"
#include "serving_experiment.hpp"
#include "tenants_experiment.hpp"
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

// Those of the tenants, if there are any.
template <class Visit>
void visit_tenants(Value& root, Visit visit) {
  Value::Member* const workload = member(root, "workload");
  Value::Member* const tenants = workload != nullptr && has_tenants(workload->value)
                                     ? member(workload->value, "tenants")
                                     : nullptr;
  if (tenants != nullptr) {
    for (Value& tenant : tenants->value.items) {
      visit(tenant);
    }
  }
}

bool names_a_part(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  return std::find(experiment_parts.begin(), experiment_parts.end(), key) != experiment_parts.end();
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
  for (const std::string& assignment : overrides) {
    if (names_a_part(assignment)) {
      config::apply_override(root, assignment, diagnostics);
    }
  }
  include_parts(root, load, diagnostics);
  for (const std::string& assignment : overrides) {
    if (!names_a_part(assignment)) {
      config::apply_override(root, assignment, diagnostics);
    }
  }
  include_placement(root, load, diagnostics);
  include_served(root, load, diagnostics);
  visit_tenants(root, [&](Value& tenant) {
    include_parts(tenant, load, diagnostics);
    include_placement(tenant, load, diagnostics);
    include_served(tenant, load, diagnostics);
  });
  diagnostics.throw_if_any();
  return root;
}

}  // namespace tessera::sim
