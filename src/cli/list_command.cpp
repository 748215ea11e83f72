#include <functional>
#include <iostream>
#include <map>

#include "commands.hpp"
#include "options.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/explore/sweep.hpp"
#include "tessera/machine/parameters.hpp"
#include "tessera/machine/topology.hpp"
#include "tessera/memory/coherence.hpp"
#include "tessera/memory/dram_channel.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/traffic.hpp"
#include "tessera/npu/tiled_operator.hpp"
#include "tessera/onnx/description.hpp"
#include "tessera/pdes/sync_policy.hpp"
#include "tessera/plan/placement.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/schedule.hpp"
#include "tessera/serving/policy.hpp"
#include "tessera/serving/request.hpp"
#include "tessera/sim/cuts.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/experiment_keys.hpp"
#include "tessera/sim/serving.hpp"
#include "tessera/sim/traffic.hpp"
#include "tessera/workload/graph_workload.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli {
namespace {

using Parts = std::vector<PartInfo>;

const std::map<std::string, std::function<Parts()>>& kinds() {
  static const std::map<std::string, std::function<Parts()>> list{
      {"topologies", [] { return machine::topologies().infos(); }},
      {"partitions", [] { return sim::partition_infos(); }},
      {"workloads", [] { return workload::workloads().infos(); }},
      {"graphs", [] { return workload::graph_workloads().infos(); }},
      {"experiment",
       [] {
         return Parts{{"experiment", "a machine and its work", sim::experiment_parameters()}};
       }},
      {"execution",
       [] {
         return Parts{{"execution", "how graphs are executed", sim::execution_parameters()}};
       }},
      {"operators", [] { return npu::operators().infos(); }},
      {"arrivals", [] { return serving::arrivals().infos(); }},
      {"policies", [] { return serving::policies().infos(); }},
      {"serving",
       [] {
         return Parts{{"serving", "workload of requests", sim::serving_parameters()},
                      {"served", "one of the tenants that requests are to",
                       sim::served_tenant_parameters()}};
       }},
      {"networks", [] { return network::networks().infos(); }},
      {"traffic",
       [] {
         return Parts{{"traffic", "load of `tessera traffic`", sim::traffic_parameters()}};
       }},
      {"patterns", [] { return network::traffic_patterns().infos(); }},
      {"processes", [] { return network::injection_processes().infos(); }},
      {"memories", [] { return memory::memories().infos(); }},
      {"dram-presets", [] { return memory::dram_presets().infos(); }},
      {"dram-schedulers", [] { return memory::dram_schedulers().infos(); }},
      {"remote-memories", [] { return memory::remote_memories().infos(); }},
      {"computes", [] { return compute::compute_models().infos(); }},
      {"dataflows", [] { return compute::dataflows().infos(); }},
      {"collectives", [] { return collective::algorithms().infos(); }},
      {"schedules", [] { return plan::schedules().infos(); }},
      {"synchronizations", [] { return pdes::sync_policies().infos(); }},
      {"layouts", [] { return plan::placements().infos(); }},
      {"machine",
       [] {
         return Parts{{"tile", "what each computing node can do", machine::tile_parameters()},
                      {"dram", "memory channels beside the tiles", machine::dram_parameters()},
                      {"coherence", "access to nodes of kind memory, by lines",
                       memory::coherence_parameters()}};
       }},
      {"models",
       [] {
         return Parts{
             {"onnx", "a model of ONNX, for tessera import", onnx::description_parameters()}};
       }},
      {"strategy",
       [] {
         return Parts{
             {"strategy", "how the work is cut and laid out", plan::strategy_parameters()}};
       }},
      {"sweep",
       [] {
         return Parts{{"sweep", "one experiment at many points", explore::sweep_parameters()}};
       }},
      {"tenants",
       [] {
         return Parts{{"tenants", "workloads at the same time, each on tiles of its own",
                       sim::tenant_parameters()}};
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
    TextTable table({"    parameter", "unit", "default", "of cost", "meaning"});
    for (const ParameterInfo& parameter : part.parameters) {
      table.add({"    " + parameter.name, parameter.unit,
                 parameter.default_value.empty() ? "-" : parameter.default_value,
                 parameter.is_cost ? "cost" : "", parameter.help});
    }
    std::cout << table.to_string();
  }
}

}  // namespace

int list_command(const Words& words, comm::Communicator& world) {
  std::vector<std::string> names;
  for (const auto& [name, parts] : kinds()) {
    names.push_back(name);
  }
  Options options(
      "list",
      "Show every part there is, with its parameters, their units and defaults. Kinds: " +
          join(names) + ".",
      "kind", "[KIND]");
  if (!options.parse(words, world)) {
    return 0;
  }
  const std::string asked = options.has_subject() ? options.subject() : "";
  if (options.has_subject() && !kinds().contains(asked)) {
    throw ConfigError(unknown_name("kind", asked, names));
  }
  if (world.rank() != 0) {
    return 0;
  }
  for (const auto& [name, parts] : kinds()) {
    if (!options.has_subject() || asked == name) {
      print(name, parts());
    }
  }
  return 0;
}

}  // namespace tessera::cli
