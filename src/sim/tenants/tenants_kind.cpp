// The kind `tenants`: several jobs at a time, each on tiles of its own.
//
//   workload: {kind: tenants, name: text, tenants: [{name: text, tiles: ..., start: 0 ps,
//              iterations: n, workload: {...}, strategy: {...}, execution: {...}}, ...]}
// Tiles are one item or a list of items: those of machine::NodeList, the name of a type of tiles,
// or `all`. Their order is that of NPUs, cores and roles. No two tenants share a tile. `iterations`
// are those of the run unless given; of requests 1.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiment/parts.hpp"
#include "jobs/sections.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/name.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/node_list.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using config::Value;

constexpr std::size_t most_jobs = 1000;

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

class TenantsReader {
 public:
  explicit TenantsReader(const Platform& platform) : platform_(platform) {}

  // Complaints go to the diagnostics of the section.
  JobEntry read(Section& section);

 private:
  std::string read_name(Section& section);
  std::vector<EntityId> read_tiles(Section& section, const std::string& tenant);

  const Platform& platform_;
  std::vector<std::string> names_;
  std::map<EntityId, std::string> owner_of_;  // names of tenants, by tile
};

const config::RequiredKey<std::string> name_key{"name", "title, without commas and slashes"};
const config::OtherKey tiles_key{"tiles", "list or name", "",
                                 "tiles of the tenant: a list of tiles, ranges and rectangles, a "
                                 "type of tiles, or all"};
const config::Key<SimTime> start{"start", SimTime::zero(), "time at which the tenant begins",
                                 config::at_least(SimTime::zero())};
const config::OptionalKey<std::uint32_t> tenant_iterations{
    "iterations", "run.iterations", "number of iterations; requests are served once",
    config::between(1U, 1'000'000U)};
// Read as those of an experiment of its own.
const config::OtherKey workload_key{"workload", "mapping or file", "",
                                    "a workload of any other kind, or the path of its file"};
const config::OtherKey strategy{"strategy", "mapping or file", "none",
                                "strategy of a workload that is cut by one"};
const config::OtherKey execution{"execution", "mapping", "none", "how graphs are executed"};

JobEntry TenantsReader::read(Section& section) {
  JobEntry entry{read_name(section), {}, SimTime::zero(), std::nullopt, section};
  entry.start = start.read(section);
  entry.iterations = tenant_iterations.read(section);
  entry.tiles = read_tiles(section, entry.name);
  return entry;
}

// Names are parts of others, and of lists.
std::string TenantsReader::read_name(Section& section) {
  std::string name = name_key.read(section);
  if (!section.has("name")) {
    return name;
  }
  config::checked_name(section, "name", name);
  if (name.find(',') != std::string::npos) {
    section.error("name", "a tenant's name has no comma, which separates names in traces");
  } else if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    section.error("name", "two tenants are called '" + name + "'");
  }
  names_.push_back(name);
  return name;
}

std::vector<EntityId> TenantsReader::read_tiles(Section& section, const std::string& tenant) {
  const Value given = section.raw(tiles_key.key());
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
  machine::NodeList list(*platform_.machine.topology, {},
                         [&](const Value& item, const std::string& message) {
                           section.error("tiles", item, message);
                           good = false;
                         });
  for (const Value& item : items) {
    take_tiles(item, platform_.machine, list);
  }
  for (const EntityId node : list.nodes()) {
    const auto [owner, is_free] = owner_of_.try_emplace(node, tenant);
    if (!is_free) {
      section.error("tiles", "tile " + std::to_string(node.value()) + ", " +
                                 platform_.machine.topology->node_name(node) + ", is of tenant '" +
                                 owner->second + "'");
      return {};
    }
  }
  return good ? list.nodes() : std::vector<EntityId>{};
}

bool read_list(Section& section, const Platform& platform, std::vector<JobEntry>& entries) {
  Section workload = section.section("workload");
  std::vector<Section> sections = workload.sections("tenants");
  if (sections.empty() || sections.size() > most_jobs) {
    workload.raw("tenants");
    workload.error("tenants", "expected a list of 1 to " + std::to_string(most_jobs) +
                                  " tenants, each a mapping");
  }
  TenantsReader reader(platform);
  for (std::size_t i = 0; i < std::min(sections.size(), most_jobs); ++i) {
    entries.push_back(reader.read(sections[i]));
  }
  return sections.size() <= most_jobs;
}

std::vector<Value*> jobs_of(Value& workload) {
  std::vector<Value*> jobs;
  if (Value* const tenants = value_of(&workload, "tenants")) {
    for (Value& tenant : tenants->items) {
      jobs.push_back(&tenant);
    }
  }
  return jobs;
}

// The keys of a tenant itself, with the sections that an experiment of its own would have.
SectionInfo describe(const PartInfo& kind) {
  SectionInfo tenants;
  tenants.name = "tenants";
  tenants.help = "each a mapping";
  tenants.shape = SectionInfo::Shape::list;
  tenants.is_required = true;
  tenants.parameters = {name_key, tiles_key, start, tenant_iterations};
  tenants.sections = sections_of_jobs(JobLists::refused);
  SectionInfo whole = choice_of(kind);
  whole.sections = {std::move(tenants)};
  return whole;
}

std::vector<PartInfo> tenant_parts() {
  return {{"tenants", "workloads that run at the same time, each on its own tiles",
           tenant_parameters()}};
}

const Registration kind(work_kinds(),
                        {"tenants", "several concurrent workloads, each on tiles of its own", {}},
                        WorkKind{.list = read_list,
                                 .jobs = jobs_of,
                                 .describe = describe,
                                 .lists = {{"tenants", tenant_parts}}});

}  // namespace

std::vector<ParameterInfo> tenant_parameters() {
  return {name_key, tiles_key, start, tenant_iterations, workload_key, strategy, execution};
}

}  // namespace tessera::sim
