#include <functional>
#include <iostream>
#include <map>

#include "commands.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/machine/partition.hpp"
#include "tessera/machine/topology.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/plan/placement.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/schedule.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {
namespace {

using Parts = std::vector<PartInfo>;

const std::map<std::string, std::function<Parts()>>& kinds() {
  static const std::map<std::string, std::function<Parts()>> list{
      {"topologies", [] { return machine::topologies().infos(); }},
      {"partitions", [] { return machine::partitioners().infos(); }},
      {"workloads", [] { return workload::workloads().infos(); }},
      {"networks", [] { return network::networks().infos(); }},
      {"memories", [] { return memory::memories().infos(); }},
      {"computes", [] { return compute::compute_models().infos(); }},
      {"collectives", [] { return collective::algorithms().infos(); }},
      {"schedules", [] { return plan::schedules().infos(); }},
      {"synchronizations", [] { return pdes::sync_policies().infos(); }},
      {"layouts", [] { return plan::placements().infos(); }},
      {"strategy",
       [] {
         return Parts{
             {"strategy", "how the work is cut and laid out", plan::strategy_parameters()}};
       }},
      {"run", [] {
         return Parts{{"run", "how an experiment is simulated", sim::run_parameters()}};
       }}};
  return list;
}

void print(const std::string& kind, const Parts& parts) {
  std::cout << kind << "\n";
  for (const PartInfo& part : parts) {
    std::cout << "  " << part.name << "  " << part.help << "\n";
    if (part.parameters.empty()) {
      continue;
    }
    TextTable table({"    parameter", "unit", "default", "meaning"});
    for (const ParameterInfo& parameter : part.parameters) {
      table.add({"    " + parameter.name, parameter.unit,
                 parameter.default_value.empty() ? "-" : parameter.default_value, parameter.help});
    }
    std::cout << table.to_string();
  }
}

}  // namespace

int list_command(const Words& words, comm::Communicator& world) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& [name, parts] : kinds()) {
    names.push_back(name);
  }
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    std::cout << "usage: tessera list [KIND]\nkinds: " << join(names) << "\n";
    return 0;
  }
  if (words.size() > 1) {
    throw ConfigError("list takes one kind at most; kinds: " + join(names));
  }
  if (!words.empty() && kinds().find(words[0]) == kinds().end()) {
    throw ConfigError(unknown_name("kind", words[0], names));
  }
  if (world.rank() != 0) {
    return 0;
  }
  for (const auto& [name, parts] : kinds()) {
    if (words.empty() || words[0] == name) {
      print(name, parts());
    }
  }
  return 0;
}

}  // namespace tessera::cli
