// Reads the workload `serving`, whose keys are in serving/keys.hpp.
#include "serving/experiment.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "chip/job_cores.hpp"
#include "jobs/tiles.hpp"
#include "results/trace_names.hpp"
#include "serving/keys.hpp"
#include "serving/models.hpp"
#include "serving/scheduler.hpp"
#include "serving/served/adapters.hpp"
#include "serving/served/classes.hpp"
#include "serving/served/tiers.hpp"
#include "serving/tenant_settings.hpp"
#include "tessera/config/name.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/serving/language_model.hpp"
#include "tessera/sim/serving/serving.hpp"

namespace tessera::sim {
namespace {

using config::Section;
using executor::ServiceSettings;
using executor::ServingWork;
using serving::CoreRange;

// Before replicas are counted.
constexpr std::size_t most_listed = executor::most_walked_tenants;

// With every replica; false after a complaint.
bool check_number(Section& workload, const ServingWork& work) {
  const bool moves = std::any_of(work.tenants.begin(), work.tenants.end(), [](const auto& one) {
    return one.tier.has_value() || one.adapters > 0;
  });
  const std::size_t most_whole = moves ? executor::most_moving_tenants : executor::most_tenants;
  const std::size_t most = work.whole_steps ? most_whole : executor::most_walked_tenants;
  const bool is_good = work.tenants.size() <= most;
  if (!is_good) {
    const std::string why = !work.whole_steps ? " where steps are walked; with 'steps: whole' " +
                                                    std::to_string(most_whole)
                            : moves ? " with tiers or adapters"
                                    : "";
    workload.error("tenants", std::to_string(work.tenants.size()) +
                                  " tenants, each replica counted; at most " +
                                  std::to_string(most) + why);
  }
  return is_good;
}

// Nodes, cut in NPUs.
void read_npus(Section& workload, const std::vector<EntityId>& nodes, ServingWork& work) {
  const auto all = static_cast<std::uint32_t>(nodes.size());
  if (work.on_tiles && !work.of_cores) {
    if (npu_cores_key(all).read(workload, 1) != 1) {
      workload.error("npu_cores", "tiles of this compute model are NPUs by themselves: 1");
    }
    for (const EntityId node : nodes) {
      work.npus.push_back({node});
    }
    return;
  }
  const std::uint32_t cores = npu_cores_key(all).read(workload, all);
  if (cores > 65535) {
    workload.error("npu_cores", "an NPU has at most 65535 cores");
  }
  if (all % cores != 0) {
    workload.error("npu_cores",
                   std::to_string(all) + " computing nodes are no whole number of NPUs");
  }
  for (std::uint32_t first = 0; first + cores <= all; first += cores) {
    work.npus.emplace_back(nodes.begin() + first, nodes.begin() + first + cores);
  }
}

// "0-2", or "3".
std::optional<CoreRange> read_cores(Section& tenant, const ServingWork& work) {
  if (!tenant.has("cores")) {
    return std::nullopt;
  }
  if (work.on_tiles) {
    tenant.raw("cores");
    tenant.error("cores",
                 work.of_cores
                     ? "with 'steps: whole' a model has all cores of its NPUs; 'npus' names some"
                     : "these tiles are NPUs by themselves, without cores; 'npus' names some");
    return std::nullopt;
  }
  const std::uint32_t cores = work.cores();
  const auto text = tenant.get<std::string>("cores");
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  const char* const end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, first);
  last = first;
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
    read = std::from_chars(read.ptr + 1, end, last);
  }
  if (read.ec != std::errc() || read.ptr != end || first > last || last >= cores) {
    tenant.error("cores", "expected FIRST-LAST, or one core, of the " + std::to_string(cores) +
                              " cores of an NPU, from 0 on");
    return std::nullopt;
  }
  return CoreRange{first, last - first + 1};
}

// As many NPUs as the model takes; none after a complaint.
void read_npus_of(Section& section, ServiceSettings& tenant, std::size_t npus) {
  const std::string_view key = served_keys().npus.key();
  const std::uint32_t of_model = tenant.model ? tenant.model->units() : 1;
  const std::uint32_t units = of_model * tenant.replicas;
  if (!section.has(key) && units > npus) {
    section.error(!tenant.model || of_model <= npus ? "replicas"
                  : tenant.experts_spread           ? "expert"
                  : tenant.model->stages() > 1      ? "pipeline"
                                                    : "tensor",
                  "the model takes " + std::to_string(units) + " NPUs; the machine has " +
                      std::to_string(npus) + " (npu_cores)");
    return;
  }
  if (!section.has(key)) {
    for (std::uint32_t unit = 0; unit < units; ++unit) {
      tenant.npus.push_back(unit);
    }
    return;
  }
  std::set<std::int64_t> seen;
  for (const std::int64_t npu : section.get_list<std::int64_t>(key)) {
    if (npu < 0 || static_cast<std::size_t>(npu) >= npus || !seen.insert(npu).second) {
      section.error(key, "expected different NPUs from 0 to " + std::to_string(npus - 1));
      tenant.npus.clear();
      return;
    }
    tenant.npus.push_back(static_cast<std::uint32_t>(npu));
  }
  if (tenant.npus.size() != units) {
    section.error(key, "the model takes " + std::to_string(units) + " NPUs");
    tenant.npus.clear();
  }
}

// Steps whose times are sums share nothing with others.
void check_whole_steps(const ServingWork& work, Section& workload) {
  std::set<std::uint32_t> taken;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      if (!taken.insert(npu).second) {
        workload.error("steps", "NPU " + std::to_string(npu) +
                                    " serves two tenants, whose steps must be walked");
        return;
      }
    }
  }
}

// Null after complaints.
std::shared_ptr<const serving::RequestSource> requests_of(
    const Section& section, const ServiceSettings& tenant,
    const std::vector<serving::RequestClass>& classes, const serving::AdapterDraw& adapters,
    std::uint64_t seed, std::uint32_t longest) {
  std::vector<std::string> names;
  for (const serving::RequestClass& one : classes) {
    names.push_back(one.name);
  }
  std::unique_ptr<serving::RequestSource> requests = serving::read_requests(
      section, {tenant.of_language, tenant.background, seed, names, adapters.count, longest});
  return requests && (!classes.empty() || adapters.count > 0)
             ? serving::with_marks(std::move(requests), classes, adapters, seed)
             : std::move(requests);
}

// `longest`: tokens of a sequence, of a language model.
ServiceSettings read_tenant(Section& section, const ServingWork& work,
                            const std::vector<const machine::Tile*>& tiles, std::size_t place,
                            std::uint64_t seed, std::uint32_t& longest,
                            std::optional<CoreRange>& cores) {
  ServiceSettings tenant;
  const bool of_language = section.has("language_model");
  tenant.of_language = of_language;
  if (of_language == section.has("onnx")) {
    section.raw("onnx");
    section.error(of_language ? "onnx" : "", "expected either 'language_model' or 'onnx'");
  }
  const char* const kind = of_language ? "language_model" : "onnx";
  tenant.name = config::checked_name(
      section, "name", served_keys().name.read(section, kind + std::to_string(place)));
  if (tenant.name.find(',') != std::string::npos) {
    section.error("name", "a tenant's name has no comma, which separates names in traces");
  }
  tenant.background = served_keys().background.read(section);
  tenant.drawn_from = mix64(seed + place);
  const std::vector<serving::RequestClass> classes = read_classes(section, of_language);
  const ServedAdapters adapters = read_adapters(section, of_language, work);
  const Section requests = section.section("requests");
  if (!of_language) {
    tenant.requests = requests_of(requests, tenant, classes, adapters.draw, tenant.drawn_from, 0);
  }
  Section batching = section.section("batching");
  tenant.batching = read_batching(batching, of_language);
  tenant.batching.adapter_slots = adapters.loaded;
  tenant.adapters = adapters.draw.count;
  tenant.adapter_rank = adapters.rank;
  tenant.host = served_keys().host.read(batching);
  if (of_language) {
    tenant.cache = served_keys().cache.read(batching);
    read_tier(batching, work, tenant);
    const std::uint32_t expert = served_keys().expert.read(section);
    read_speculation(section.section("speculation"), batching, tenant, expert);
  }
  tenant.targets = read_targets(section.section("target"), of_language);
  read_class_settings(section, classes, tenant);
  cores = read_cores(section, work);
  tenant.model = of_language           ? read_language_model(section, tenant, work, tiles, longest)
                 : section.has("onnx") ? read_onnx(section, tenant, work, tiles)
                                       : nullptr;
  if (of_language) {  // how long they may be is known of the model
    tenant.requests =
        requests_of(requests, tenant, classes, adapters.draw, tenant.drawn_from, longest);
  }
  tenant.replicas = served_keys().replicas.read(section);
  tenant.router = served_keys().router.read(section);
  tenant.prefill = served_keys().prefill.read(section);
  tenant.by_layers = served_keys().handover.read(section);
  tenant.price = served_keys().price.read(section);
  check_prefill(work, tenant, section);
  read_scaling(section, tenant);
  note_router(section, tenant);
  tenant.batching.in_flight = tenant.model ? tenant.model->stages() : 1;
  read_npus_of(section, tenant, work.npus.size());
  return tenant;
}

// A tenant for each replica, `first` being the number of the first one.
std::vector<ServiceSettings> replicas_of(const ServiceSettings& served, std::size_t first) {
  std::vector<ServiceSettings> all;
  const std::size_t units = served.npus.size() / served.replicas;
  for (std::uint32_t replica = 0; replica < served.replicas; ++replica) {
    ServiceSettings& made = all.emplace_back(served);
    made.lead = static_cast<std::uint32_t>(first);
    if (served.replicas > 1) {
      made.name += "." + std::to_string(replica);
      const auto begin = served.npus.begin() + static_cast<std::ptrdiff_t>(replica * units);
      made.npus.assign(begin, begin + static_cast<std::ptrdiff_t>(units));
    }
  }
  return all;
}

void number_names(ServingWork& work) {
  for (const ServiceSettings& tenant : work.tenants) {
    work.first_name.push_back(static_cast<std::uint32_t>(work.names.size()));
    for (const std::string& name : tenant.model->names()) {
      if (work.names.size() < most_names) {
        work.names.push_back(tenant.name + "/" + name);
      }
    }
  }
}

void read_all_reduce(Section& workload, ServingWork& work) {
  const std::string name = serving_keys().all_reduce.read(workload);
  if (!collective::algorithms().contains(name)) {
    return;
  }
  work.all_reduce = collective::algorithms().at(name)({});
  work.all_to_all = collective::algorithms().at("direct")({});
  constexpr collective::Kind kind = collective::Kind::all_reduce;
  if (!work.all_reduce->offers(kind)) {
    workload.error("all_reduce", "'" + name + "' has no all-reduce; ring has");
  }
}

// Whether NPUs are tiles by themselves; none after a complaint.
std::optional<bool> read_kind_of_npus(ServingWork& work, const machine::Machine& machine,
                                      const std::vector<EntityId>& nodes,
                                      const compute::ComputeModel& compute,
                                      Section& machine_section, Section* tenant) {
  const std::vector<const machine::Tile*> tiles = kinds_of(machine, nodes);
  if (std::none_of(tiles.begin(), tiles.end(), [&](const machine::Tile* tile) {
        return npu::core_of(compute.of(*tile)) != nullptr;
      })) {
    return true;
  }
  const npu::CoreConfig* const core =
      core_of_all(machine, nodes, compute,
                  "requests are served by NPU cores or by tiles of other models, not by both",
                  machine_section, tenant);
  if (core == nullptr) {
    return std::nullopt;
  }
  work.core = *core;
  return false;
}

std::size_t idle_npus_of(const ServingWork& work) {
  std::set<std::uint32_t> busy;
  for (const ServiceSettings& tenant : work.tenants) {
    busy.insert(tenant.npus.begin(), tenant.npus.end());
  }
  return work.npus.size() - busy.size();
}

// Tiles behind the last one that a model runs on have nothing to do.
void drop_idle_npus(ServingWork& work) {
  std::size_t used = 1;
  for (const ServiceSettings& tenant : work.tenants) {
    for (const std::uint32_t npu : tenant.npus) {
      used = std::max<std::size_t>(used, npu + 1);
    }
  }
  work.npus.resize(std::min(work.npus.size(), used));
}

void note_unused_seed(Section& workload, const ServingWork& work) {
  const auto& seed = serving_keys().seed;
  const bool is_drawn = std::ranges::any_of(
      work.tenants, [](const ServiceSettings& tenant) { return tenant.requests->is_drawn(); });
  if (!is_drawn && seed.info().default_value != std::to_string(seed.read(workload))) {
    config::note_without_effect(workload, seed.key(), "requests without random draws");
  }
}

// All-reduces are those of NPUs that share layers.
void note_unused_all_reduce(Section& workload, const ServingWork& work) {
  const auto& key = serving_keys().all_reduce;
  const bool shares_layers = std::ranges::any_of(work.tenants, [](const ServiceSettings& tenant) {
    return tenant.model->units() > tenant.model->stages() && !tenant.experts_spread;
  });
  if (!shares_layers && key.read(workload) != ParameterInfo(key).default_value) {
    config::note_without_effect(workload, "all_reduce", "models whose layers are each on one NPU");
  }
}

// The tenants of a workload as they are read.
struct ReadTenants {
  std::vector<Section> sections;
  std::vector<std::uint32_t> longest;  // [sections] sequences
  bool are_complete = true;            // else something has been complained about
  serving::PolicySetup policy;
};

// Keys of all tenants.
void read_common(Section& workload, const std::vector<EntityId>& nodes, ServingWork& work) {
  work.message = serving_keys().message.read(workload);
  read_npus(workload, nodes, work);
  read_all_reduce(workload, work);
}

// False after a complaint.
bool find_tenants(Section& workload, ReadTenants& read) {
  read.sections = workload.sections("tenants");
  if (read.sections.empty() || read.sections.size() > most_listed) {
    workload.raw("tenants");
    workload.error("tenants",
                   "expected a list of 1 to " + std::to_string(most_listed) + " tenants");
    return false;
  }
  read.longest.resize(read.sections.size());
  return true;
}

void check_names(const ServingWork& work, const ServiceSettings& served,
                 const std::vector<ServiceSettings>& replicas, Section& section) {
  for (const ServiceSettings& other : work.tenants) {
    const bool is_same = other.name == served.name || std::any_of(replicas.begin(), replicas.end(),
                                                                  [&](const ServiceSettings& one) {
                                                                    return one.name == other.name;
                                                                  });
    if (is_same) {
      section.error("name", "two tenants are called '" + other.name + "'");
    }
  }
}

// The tenant of a section, with all its replicas.
void add_tenant(std::size_t place, const std::vector<const machine::Tile*>& tiles,
                std::uint64_t seed, ReadTenants& read, ServingWork& work) {
  Section& section = read.sections[place];
  serving::Sharer sharer;
  ServiceSettings served =
      read_tenant(section, work, tiles, place, seed, read.longest[place], sharer.cores);
  read.are_complete = read.are_complete && served.model && served.requests;
  served.section = place;
  std::vector<ServiceSettings> replicas = replicas_of(served, work.tenants.size());
  check_names(work, served, replicas, section);
  sharer.has_target =
      served.targets.any() ||
      std::any_of(served.classes.begin(), served.classes.end(),
                  [](const executor::ServedClass& one) { return one.targets.any(); });
  for (ServiceSettings& replica : replicas) {
    sharer.npus = replica.npus;
    read.policy.tenants.push_back(sharer);
    work.tenants.push_back(std::move(replica));
  }
}

void check_tenants(Section& workload, ReadTenants& read, const ServingWork& work) {
  for (std::size_t place = 0; place < read.sections.size(); ++place) {
    const ServiceSettings& served =
        *std::find_if(work.tenants.begin(), work.tenants.end(),
                      [place](const ServiceSettings& one) { return one.section == place; });
    if (served.of_language) {
      check_length(served, read.sections[place], read.longest[place]);
      check_pieces(served, read.sections[place]);
    }
  }
  if (work.whole_steps) {
    check_whole_steps(work, workload);
  }
}

}  // namespace

std::unique_ptr<executor::ServingWork> read_serving(Section& workload,
                                                    const machine::Machine& machine,
                                                    const std::vector<EntityId>& nodes,
                                                    const compute::ComputeModel& compute,
                                                    Section& machine_section, Section* tenant) {
  auto made = std::make_unique<ServingWork>();
  ServingWork& work = *made;
  const std::optional<bool> on_tiles =
      read_kind_of_npus(work, machine, nodes, compute, machine_section, tenant);
  if (!on_tiles) {
    workload.error("", "cannot be read without such cores");
    return nullptr;
  }
  work.whole_steps = serving_keys().steps.read(workload);
  work.of_cores = !*on_tiles && work.whole_steps;
  work.on_tiles = *on_tiles || work.of_cores;
  const auto seed = static_cast<std::uint64_t>(serving_keys().seed.read(workload));
  read_common(workload, nodes, work);
  ReadTenants read;
  if (!find_tenants(workload, read)) {
    return nullptr;
  }
  read.policy.cores = work.cores();
  // Whose peaks are asked for: arrays of cores have rates of their own.
  const std::vector<const machine::Tile*> tiles =
      work.of_cores ? std::vector<const machine::Tile*>() : kinds_of(machine, nodes);
  for (std::size_t place = 0; place < read.sections.size(); ++place) {
    add_tenant(place, tiles, seed, read, work);
  }
  if (!check_number(workload, work)) {
    return nullptr;
  }
  work.idle_npus = idle_npus_of(work);
  if (work.on_tiles) {
    drop_idle_npus(work);
  }
  read.policy.npus = static_cast<std::uint32_t>(work.npus.size());
  work.policy = read_scheduler(workload, work, read.sections.size(), read.policy);
  if (std::all_of(work.tenants.begin(), work.tenants.end(),
                  [](const ServiceSettings& one) { return one.background; })) {
    workload.error("tenants", "all of them are in the background, so that none is waited for");
  }
  if (!read.are_complete || !work.policy) {
    return nullptr;
  }
  note_unused_seed(workload, work);
  note_unused_all_reduce(workload, work);
  check_tenants(workload, read, work);
  number_names(work);
  return made;
}

}  // namespace tessera::sim
