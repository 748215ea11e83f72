#include "program_experiment.hpp"

#include <utility>

#include "graph_experiment.hpp"
#include "run_options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/machine/routing.hpp"
#include "tessera/plan/graph_source.hpp"

namespace tessera::sim {
namespace {

using config::Diagnostics;
using config::Section;

void check_machine_for(const machine::Machine& machine, const workload::Workload& workload,
                       Section& root) {
  for (const machine::Tile& tile : machine.tiles()) {
    if (tile.peak.empty()) {
      Section part = root.section("machine");
      if (!part.has("tile") && tile.name.empty()) {  // else it has been complained about
        part.error("tile", "missing; tile.peak must give the rate of " +
                               to_string(workload.data_type) + ", in which the workload computes");
      }
    } else if (tile.peak.find(workload.data_type) == tile.peak.end()) {
      std::vector<std::string> types;
      for (const auto& [type, peak] : tile.peak) {
        types.push_back(to_string(type));
      }
      root.error("workload", "the workload computes in " + to_string(workload.data_type) +
                                 ", but the machine gives a peak for " + join(types) +
                                 " only (machine." + tile.peak_key() + ")");
    }
  }
}

// The plan knows no places. A complaint of it that begins with the path of a key, as in
// "placement.group: ...", is put there, any other at the strategy.
ConfigError placed(const ConfigError& error, Section& root) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.file.empty()) {
      continue;
    }
    const std::string key = diagnostic.message.substr(0, diagnostic.message.find(": "));
    const std::size_t dot = key.find('.');
    Section strategy = root.section("strategy");
    Section part = dot == std::string::npos ? strategy : strategy.section(key.substr(0, dot));
    const std::string last = key.substr(dot == std::string::npos ? 0 : dot + 1);
    const config::Place place = part.has(last) ? part.place_of(last) : root.place_of("strategy");
    diagnostic = {place.file, place.line, place.column, "strategy: " + diagnostic.message};
    if (part.has(last)) {
      diagnostic.message.replace(0, std::string("strategy: ").size(), "strategy.");
    }
  }
  return ConfigError(diagnostics);
}

plan::Plan plan_of(const Experiment& experiment, const plan::Strategy& strategy) {
  const machine::Topology& topology = *experiment.machine.topology;
  const auto routing = machine::make_routing(experiment.network->routing(), topology);
  const plan::Transfers transfers{[&](EntityId from, EntityId to) {
                                    return machine::hops_between(topology, *routing, from, to);
                                  },
                                  experiment.network->overheads().message,
                                  experiment.network->overheads().collective};
  return plan::make_plan(
      experiment.machine, experiment.workload, strategy,
      [&](const machine::Tile& tile, const workload::Operation& operation) {
        return experiment.compute->duration(experiment.machine, tile, operation);
      },
      transfers);
}

}  // namespace

void read_programs(Experiment& experiment, Section& section, const config::TextLoader& load,
                   Diagnostics& diagnostics) {
  Section workload_section = section.section("workload");
  std::optional<workload::Workload> workload = workload::read_workload(workload_section);
  if (!workload) {
    diagnostics.throw_if_any();
    throw InternalError("a workload was not read and nothing was complained about");
  }
  experiment.workload = std::move(*workload);
  Section strategy_section = section.section("strategy");
  const plan::Strategy strategy =
      plan::read_strategy(strategy_section, experiment.workload, *experiment.machine.topology);
  if (strategy.aggregation != plan::Aggregation::none && section.section("machine").has("faults")) {
    strategy_section.error("aggregation",
                           "a tile cannot stand for others on a machine with faults");
  }
  experiment.options = read_run_options(section.section("run"), *experiment.machine.topology);
  check_machine_for(experiment.machine, experiment.workload, section);
  if (section.has("execution")) {
    // The programs of the plan are run as graphs.
    experiment.graph = read_execution(section.section("execution"), experiment.machine,
                                      experiment.workload.data_type, load);
    if (experiment.options.replay) {
      section.section("run").error("replay", "graphs are simulated whole");
    }
  }
  section.finish();
  diagnostics.throw_if_any();
  try {
    experiment.plan = plan_of(experiment, strategy);
    experiment.ideal_time = experiment.plan.ideal_time();
    if (experiment.graph) {
      const auto plan = std::make_shared<plan::Plan>(std::exchange(experiment.plan, {}));
      add_source(*experiment.graph, plan::make_graph_source(plan, experiment.graph->nodes),
                 experiment.machine, nullptr, workload_section, section.section("execution"));
    }
  } catch (const ConfigError& error) {
    throw placed(error, section);
  }
  diagnostics.throw_if_any();
}

void use_micro_batches(Experiment& experiment, std::uint32_t micro_batches) {
  plan::Strategy strategy = experiment.plan.strategy;
  strategy.micro_batches = micro_batches;
  experiment.plan = plan_of(experiment, strategy);
}

}  // namespace tessera::sim
