#include "tenants_experiment.hpp"

#include <algorithm>
#include <utility>

#include "settle_placement.hpp"
#include "tenants_memory.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/node_list.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using config::Value;

constexpr std::size_t most_tenants = 1000;
constexpr std::size_t most_services = 200;  // that traces tell apart beside what else tiles do

// An item of a tenant's tiles: all, a type of them, or as the list takes it.
void take_tiles(const Value& item, const machine::Machine& machine, machine::NodeList& list) {
  const std::string name = item.kind == Value::Kind::scalar ? item.text : "";
  const bool is_type =
      !name.empty() && std::any_of(machine.types.begin(), machine.types.end(),
                                   [&](const machine::Tile& tile) { return tile.name == name; });
  if (!is_type && name != "all") {
    list.take_item(item);
    return;
  }
  for (const EntityId node : machine.topology->computing_node_ids()) {
    if ((!is_type || machine.tile_of(node).name == name) && !list.take(item, node)) {
      return;
    }
  }
}

}  // namespace

std::vector<ParameterInfo> tenant_parameters() {
  return {{"name", "", "", "title, without comma and slash"},
          {"tiles", "", "", "a list of tiles, ranges and rectangles, a type of tiles, or all"},
          {"start", "ps", "0 ps", "when it begins"},
          {"iterations", "", "run.iterations", "how often; requests are served once"},
          {"workload", "", "", "a mapping of any other kind, or the path of a file"},
          {"strategy", "", "", "of a workload that is cut by one"},
          {"execution", "", "", "of graphs"}};
}

bool has_tenants(const Value& workload) {
  const Value::Member* const kind = workload.find("kind");
  return kind != nullptr && kind->value.text == tenants_kind;
}

TenantsReader::TenantsReader(Experiment& experiment, Section section, Section machine,
                             const config::TextLoader& load)
    : experiment_(experiment),
      section_(std::move(section)),
      machine_(std::move(machine)),
      load_(load) {}

bool TenantsReader::read() {
  Section workload = section_.section("workload");
  experiment_.workload.name =
      workload.get_or<std::string>("name", workload.get<std::string>("kind"));
  for (const char* key : {"strategy", "execution"}) {
    if (section_.has(key)) {
      section_.raw(key);
      section_.error(key, "each tenant has its own, beside its workload");
    }
  }
  std::vector<Section> sections = workload.sections("tenants");
  if (sections.empty() || sections.size() > most_tenants) {
    workload.raw("tenants");
    workload.error("tenants", "expected a list of 1 to " + std::to_string(most_tenants) +
                                  " tenants, each a mapping");
  }
  bool is_whole = sections.size() <= most_tenants;
  for (std::size_t i = 0; i < std::min(sections.size(), most_tenants); ++i) {
    is_whole = read_tenant(sections[i]) && is_whole;
  }
  return is_whole;
}

bool TenantsReader::read_tenant(Section& section) {
  Tenant tenant;
  tenant.name = read_name(section);
  tenant.start =
      section.get_or<SimTime>("start", SimTime::zero(), config::at_least(SimTime::zero()));
  const auto iterations =
      section.get_optional<std::int64_t>("iterations", config::between<std::int64_t>(1, 1'000'000));
  tenant.tiles = read_tiles(section, tenant.name);
  const Value workload = section.raw("workload");
  if (has_tenants(workload)) {
    section.error("workload", "a tenant has no tenants of its own");
    return false;
  }
  for (const char* part : needed_parts(workload)) {
    if (!section.has(part)) {
      section.error(part, "missing; give a mapping or the path of a file");
      return false;
    }
  }
  if (tenant.tiles.empty() || !experiment_.compute || !experiment_.network) {
    return false;
  }
  JobReader reader(experiment_, section, machine_, {tenant.tiles, false}, load_);
  const bool is_whole = reader.read(tenant.job);
  readings_.push_back({section, iterations, std::move(reader)});
  experiment_.tenants.push_back(std::move(tenant));
  return is_whole;
}

// Names are parts of others, and of lists.
std::string TenantsReader::read_name(Section& section) {
  auto name = section.get<std::string>("name");
  if (!section.has("name")) {
    return name;
  }
  if (name.empty() || name.find_first_of(",/") != std::string::npos) {
    section.error("name", "expected a text without comma and slash");
  } else if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    section.error("name", "two tenants are called '" + name + "'");
  }
  names_.push_back(name);
  return name;
}

std::vector<EntityId> TenantsReader::read_tiles(Section& section, const std::string& tenant) {
  const Value given = section.raw("tiles");
  if (given.kind == Value::Kind::null) {
    section.error("tiles", "missing; give a list of tiles, a range, a type of them, or all");
    return {};
  }
  const std::vector<Value> items =
      given.kind == Value::Kind::sequence ? given.items : std::vector<Value>{given};
  if (items.empty()) {
    section.error("tiles", "the list is empty");
    return {};
  }
  bool good = true;
  machine::NodeList list(*experiment_.machine.topology, {},
                         [&](const Value& item, const std::string& message) {
                           section.error("tiles", item, message);
                           good = false;
                         });
  for (const Value& item : items) {
    take_tiles(item, experiment_.machine, list);
  }
  for (const EntityId node : list.nodes()) {
    const auto [owner, is_free] = owner_of_.try_emplace(node, tenant);
    if (!is_free) {
      section.error("tiles", "tile " + std::to_string(node.value()) + ", " +
                                 experiment_.machine.topology->node_name(node) +
                                 ", is of tenant '" + owner->second + "'");
      return {};
    }
  }
  return good ? list.nodes() : std::vector<EntityId>{};
}

void TenantsReader::apply(const RunOptions& options) {
  std::size_t services = 0;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    Reading& reading = readings_[i];
    Job& job = experiment_.tenants[i].job;
    job.iterations = static_cast<std::uint32_t>(
        reading.iterations.value_or(job.serving ? 1 : options.iterations));
    if (const std::string fault = iterations_objection(job); !fault.empty()) {
      reading.section.error(reading.iterations ? "iterations" : "workload", fault);
    }
    services += job.serving ? job.serving->tenants.size() : 0;
    if (job.serving && services > most_services) {
      reading.section.error("workload", "with those before requests are served of " +
                                            std::to_string(services) + " tenants; at most " +
                                            std::to_string(most_services) + " are possible");
      return;
    }
  }
}

void TenantsReader::plan() {
  std::uint32_t groups = 0;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    Tenant& tenant = experiment_.tenants[i];
    Job& job = tenant.job;
    readings_[i].reader.plan(job);
    settle_placement(experiment_, tenant);
    experiment_.ideal_time =
        std::max(experiment_.ideal_time, tenant.start + job.ideal_time * job.iterations);
    if (job.graph) {
      job.graph->first_group = groups;
      groups += static_cast<std::uint32_t>(job.graph->groups.size());
    }
  }
  std::vector<Section> sections;
  for (const Reading& reading : readings_) {
    sections.push_back(reading.section);
  }
  share_memories(experiment_, sections);
  place_operands(experiment_);
}

}  // namespace tessera::sim
