// The cutter `tenants`, and those of jobs that say which of their tiles go together.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "cuts/cutter_of_jobs.hpp"
#include "cuts/idle_nodes.hpp"
#include "jobs/tiles.hpp"
#include "tessera/machine/partition/partition_tools.hpp"
#include "tessera/sim/cuts/cuts.hpp"

namespace tessera::sim {
namespace {

using machine::Weights;
using Owners = SparseTable;  // [nodes], or no_owner

// The heaviest tenant that is left goes to the rank with least to do.
Owners by_tenants(const Experiment& experiment, int ranks, const Weights& weights) {
  const std::vector<PlacedJob>& tenants = experiment.jobs;
  refuse_too_many_ranks("tenants", tenants.size(), "tenants", ranks);
  std::vector<std::uint64_t> load(tenants.size());
  for (std::size_t number = 0; number < tenants.size(); ++number) {
    for (const EntityId tile : tenants[number].tiles) {
      load[number] += weights.of(tile.value());
    }
  }
  std::vector<std::size_t> order(tenants.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return load[a] > load[b]; });
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(ranks));
  Owners owner(experiment.machine.topology->nodes(), no_owner);
  for (const std::size_t number : order) {
    const auto rank = std::min_element(sums.begin(), sums.end()) - sums.begin();
    sums[static_cast<std::size_t>(rank)] += load[number];
    for (const EntityId tile : tenants[number].tiles) {
      owner.set(tile.value(), static_cast<std::uint32_t>(rank));
    }
  }
  return owner;
}

// As the job says.
Owners by_job(const Experiment& experiment, int ranks, const Weights& weights) {
  return experiment.only_job()->cut(experiment, ranks, weights);
}

using Objection = std::function<std::string(const Experiment&)>;
using Cut = Owners (*)(const Experiment&, int, const Weights&);

Cutter cutter(const Objection& objection, Cut cut) {
  return {
      objection, [objection, cut](const Experiment& experiment, int ranks, const Weights& weights) {
        const machine::Topology& topology = *experiment.machine.topology;
        machine::check_request(topology, ranks, weights);
        if (const std::string fault = objection(experiment); !fault.empty()) {
          throw ConfigError("partition " + fault);
        }
        if (ranks == 1) {
          return machine::partition_of_one(topology);
        }
        return machine::partition_from(
            topology, ranks, give_idle_nodes(topology, cut(experiment, ranks, weights)), weights);
      }};
}

std::string needs_tenants(const Experiment& experiment) {
  return experiment.only_job() != nullptr ? "'tenants' needs a workload of tenants" : "";
}

const Registration tenants(cutters(),
                           {"tenants", "whole tenants, of nearly equal work; for tenants", {}},
                           cutter(needs_tenants, by_tenants));
}  // namespace

Cutter cutter_of_jobs(const std::string& name, const std::string& objection) {
  return cutter(
      [name, objection](const Experiment& experiment) {
        const Job* const job = experiment.only_job();
        return job != nullptr && job->cutter() == name ? "" : "'" + name + "' " + objection;
      },
      by_job);
}
}  // namespace tessera::sim
