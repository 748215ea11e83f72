// The cutters `stages`, `replicas`, `stages-replicas`, `groups` and `traffic`.
#include <algorithm>
#include <utility>

#include "cuts/plan_cuts.hpp"
#include "tessera/machine/partition/partition_tools.hpp"
#include "tessera/sim/cuts/cuts.hpp"

namespace tessera::sim {
namespace {

std::string objection_of(const Experiment& experiment, const std::string& name) {
  return experiment.planned() == nullptr ? "'" + name +
                                               "' cuts the programs of a strategy, which this "
                                               "experiment has not; use 'auto'"
                                         : "";
}

machine::Partition cut(const std::string& name, const Experiment& experiment, int ranks,
                       const machine::Weights& weights) {
  const machine::Topology& topology = *experiment.machine.topology;
  machine::check_request(topology, ranks, weights);
  if (const std::string objection = objection_of(experiment, name); !objection.empty()) {
    throw ConfigError("partition " + objection);
  }
  if (ranks == 1) {
    return machine::partition_of_one(topology);
  }
  const PlanCuts cuts(experiment, weights);
  std::vector<PlanCuts::Cut> ways = cuts.ways(name, ranks);
  if (ways.empty()) {
    const plan::Degrees& degrees = experiment.plan().strategy.degrees;
    throw ConfigError("partition '" + name + "' cannot cut " + std::to_string(degrees.pipeline) +
                      " stages of " + std::to_string(degrees.data) + " replicas over " +
                      std::to_string(ranks) + " ranks; use fewer ranks or 'auto'");
  }
  std::size_t best = 0;
  if (ways.size() > 1) {
    std::vector<double> walls;
    for (const PlanCuts::Cut& way : ways) {
      walls.push_back(cuts.predict(way.owner, ranks).wall_s);
    }
    best = static_cast<std::size_t>(std::min_element(walls.begin(), walls.end()) - walls.begin());
  }
  return machine::partition_from(topology, ranks, std::move(ways[best].owner), weights);
}

Cutter cutter(const std::string& name) {
  return {[name](const Experiment& experiment) { return objection_of(experiment, name); },
          [name](const Experiment& experiment, int ranks, const machine::Weights& weights) {
            return cut(name, experiment, ranks, weights);
          }};
}

const Registration stages(cutters(),
                          {"stages",
                           "whole pipeline stages, in runs of equal work or in turn; for "
                           "strategies",
                           {}},
                          cutter("stages"));
const Registration replicas(
    cutters(), {"replicas", "groups of whole replicas with all their stages; for strategies", {}},
    cutter("replicas"));
const Registration products(
    cutters(), {"stages-replicas", "whole stages times groups of replicas; for strategies", {}},
    cutter("stages-replicas"));
const Registration groups(cutters(),
                          {"groups",
                           "whole tensor groups, by their position on the machine; for strategies",
                           {}},
                          cutter("groups"));
const Registration traffic(
    cutters(),
    {"traffic", "whole tensor groups, with few messages between ranks (METIS); for strategies", {}},
    cutter("traffic"));

}  // namespace
}  // namespace tessera::sim
