#include "tessera/sim/sections.hpp"

#include <functional>
#include <map>
#include <utility>

#include "jobs/sections.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/keys.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/parameters.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/memory/dram/spec.hpp"
#include "tessera/memory/keys.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/remote.hpp"
#include "tessera/network/keys.hpp"
#include "tessera/network/network.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {
namespace {

ParameterInfo key(std::string name, std::string type, std::string help) {
  ParameterInfo info{std::move(name), "", "", std::move(help)};
  info.type = std::move(type);
  return info;
}

ParameterInfo title() {
  return key("name", "text", "a title");
}

SectionInfo models(const ParameterInfo& selector, const std::vector<PartInfo>& parts) {
  SectionInfo section = section_of_parts(selector, parts);
  section.keeps_others = true;
  return section;
}

SectionInfo compute() {
  return models(compute::model_key(), compute::compute_models().infos());
}

SectionInfo types() {
  SectionInfo section =
      section_of_keys("types", "tiles of several types, by name", machine::type_parameters());
  section.shape = SectionInfo::Shape::map;
  section.sections = {compute()};
  return section;
}

SectionInfo machine_section() {
  SectionInfo machine =
      section_of_keys("machine", "the simulated machine", machine::machine_parameters());
  SectionInfo topology =
      section_of_parts(machine::topology_kind_key(), machine::topologies().infos());
  topology.is_required = true;
  SectionInfo remote =
      section_of_parts(memory::remote_kind_key(), memory::remote_memories().infos());
  machine.sections = {
      std::move(topology),
      section_of_keys("tile", "rates and memory of each computing node",
                      machine::tile_parameters()),
      types(),
      section_of_keys("dram", "memory channels", machine::dram_parameters()),
      section_of_keys("faults", "slow and dead links, slow nodes", machine::fault_parameters()),
      section_of_keys("power", "power that a device draws", machine::power_parameters()),
      section_of_keys("framework", "device memory that software uses in addition to tensors",
                      machine::framework_parameters()),
      section_of_keys("host", "memory of a device's host, and the link to it",
                      machine::host_parameters()),
      models(network::model_key(), network::networks().infos()),
      models(memory::model_key(), memory::memories().infos()),
      compute(),
      std::move(remote),
      section_of_keys("coherence", "cache-line access to nodes of kind memory",
                      memory::coherence_parameters())};
  machine.may_be_file = true;
  machine.is_required = true;
  return machine;
}

// As the kind describes it; of a kind that says nothing at all anything may stand there.
SectionInfo kind_section(const PartInfo& info) {
  const WorkKind& kind = *find_work_kind(info.name);
  SectionInfo section = kind.describe ? kind.describe(info) : choice_of(info);
  section.is_open = !kind.describe && info.parameters.empty();
  return section;
}

SectionInfo experiment_file() {
  SectionInfo experiment = section_of_keys("Tessera experiment", "", {title()});
  experiment.sections = sections_of_jobs(JobLists::allowed);
  experiment.sections.insert(experiment.sections.begin(), machine_section());
  experiment.sections.push_back(
      section_of_keys("run", "how the experiment is simulated", run_parameters()));
  return experiment;
}

SectionInfo file_of_work(const WorkFile& file) {
  SectionInfo whole = section_of_keys("Tessera " + file.name, "", {title()});
  whole.sections = {machine_section(), file.section()};
  return whole;
}

SectionInfo strategy_section() {
  SectionInfo strategy = section_of_keys(
      "strategy", "how the workload is cut and placed on the machine", plan::strategy_parameters());
  strategy.may_be_file = true;
  return strategy;
}

using FileMakers = std::map<std::string, std::function<SectionInfo()>>;

// Beside those that kinds of work have.
FileMakers own_files() {
  return {{"experiment", experiment_file},
          {"machine", machine_section},
          {"workload", [] { return workload_section(JobLists::allowed); }},
          {"strategy", strategy_section},
          {"dram", [] { return section_of_keys("Tessera DRAM", "", memory::dram_parameters()); }}};
}

const FileMakers& files() {
  static const FileMakers all = [] {
    FileMakers makers = own_files();
    for (const std::string& kind : work_kind_names()) {
      for (const WorkFile& file : find_work_kind(kind)->files) {
        makers.emplace(file.name, [&file] { return file_of_work(file); });
      }
    }
    return makers;
  }();
  return all;
}

}  // namespace

SectionInfo workload_section(JobLists lists) {
  SectionInfo workload = section_of_parts("workload", "what is computed", "kind", "", {});
  for (const PartInfo& info : work_kind_infos()) {
    if (lists == JobLists::allowed || !find_work_kind(info.name)->list) {
      workload.choices.push_back(kind_section(info));
    }
  }
  workload.parameters = {title()};
  workload.may_be_file = true;
  workload.is_required = true;
  return workload;
}

std::vector<SectionInfo> sections_of_jobs(JobLists lists) {
  return {workload_section(lists), strategy_section(),
          section_of_keys("execution", "how graphs are executed", execution_parameters())};
}

std::vector<std::string> file_kinds() {
  std::vector<std::string> names;
  for (const auto& [name, make] : files()) {
    names.push_back(name);
  }
  return names;
}

SectionInfo sections_of_file(const std::string& kind) {
  const auto found = files().find(kind);
  if (found == files().end()) {
    throw ConfigError(unknown_name("file", kind, file_kinds()));
  }
  return found->second();
}

}  // namespace tessera::sim
