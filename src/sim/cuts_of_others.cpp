// The cutters `communicators`, `tenants` and `npus`.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "idle_nodes.hpp"
#include "tessera/machine/graph_parts.hpp"
#include "tessera/machine/partition_tools.hpp"
#include "tessera/sim/cuts.hpp"

namespace tessera::sim {
namespace {

using Weights = std::vector<std::uint32_t>;
using Owners = std::vector<std::uint32_t>;  // [nodes], or no_owner

std::uint64_t weight_of(const Weights& weights, EntityId node) {
  return weights.empty() ? 1 : weights[node.value()];
}

[[noreturn]] void refuse_ranks(const std::string& name, std::size_t parts, const std::string& what,
                               int ranks) {
  throw ConfigError("partition '" + name + "' cannot cut " + std::to_string(parts) + " " + what +
                    " over " + std::to_string(ranks) + " ranks; use fewer ranks or 'auto'");
}

// What the graphs of some NPUs say of whom they talk to: how often in each communicator (the empty
// name: all), and messages to other NPUs.
struct Talks {
  std::map<std::string, std::uint64_t> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> messages;
};

// The first nodes of some NPUs stand for all: programs repeat themselves, and NPUs are alike.
Talks look_at(const executor::GraphWork& work) {
  constexpr std::uint32_t most_npus = 64;
  constexpr std::size_t most_nodes = 1024;
  Talks talks;
  const std::uint32_t apart = (work.npus() + most_npus - 1) / most_npus;
  for (std::uint32_t npu = 0; npu < work.npus(); npu += apart) {
    workload::GraphPosition position;
    for (const workload::GraphNode& node : work.source->read(npu, position, most_nodes)) {
      if (node.action == workload::GraphAction::collective) {
        ++talks.groups[node.group];
      } else if (node.action == workload::GraphAction::send) {
        ++talks.messages[{npu, node.peer}];
      }
    }
  }
  return talks;
}

class TalkGraph {
 public:
  explicit TalkGraph(std::uint32_t npus) : edges_(npus) {}

  void add(std::uint32_t a, std::uint32_t b, std::uint64_t count) {
    if (a != b) {
      edges_[a][b] += count;
      edges_[b][a] += count;
    }
  }
  machine::WeightedGraph take(const executor::GraphWork& work, const Weights& weights) const {
    machine::WeightedGraph graph;
    for (std::uint32_t npu = 0; npu < edges_.size(); ++npu) {
      for (const auto& [other, count] : edges_[npu]) {
        graph.neighbours.push_back(other);
        graph.edge_weights.push_back(count);
      }
      graph.first.push_back(graph.neighbours.size());
      graph.vertex_weights.push_back(weight_of(weights, work.nodes[npu]));
    }
    return graph;
  }

 private:
  std::vector<std::map<std::uint32_t, std::uint64_t>> edges_;
};

// An edge from each member of a communicator to the next one, as often as it is used: those that
// are used most stay whole.
machine::WeightedGraph graph_of(const executor::GraphWork& work, const Weights& weights) {
  const Talks talks = look_at(work);
  TalkGraph graph(work.npus());
  for (const executor::GraphGroup& group : work.groups) {
    const bool all = &group == &work.groups.front();
    const auto used = talks.groups.find(all ? "" : group.name);
    const std::uint64_t count = used == talks.groups.end() ? (all ? 0 : 1) : used->second;
    if (count == 0) {
      continue;
    }
    for (std::size_t place = 0; place < group.members.size(); ++place) {
      graph.add(group.members[place], group.members[(place + 1) % group.members.size()], count);
    }
  }
  for (const auto& [ends, count] : talks.messages) {
    graph.add(ends.first, ends.second, count);
  }
  return graph.take(work, weights);
}

Owners by_communicators(const Experiment& experiment, int ranks, const Weights& weights) {
  const executor::GraphWork& work = *experiment.graph;
  if (work.npus() < static_cast<std::uint32_t>(ranks)) {
    refuse_ranks("communicators", work.npus(), "NPUs", ranks);
  }
  const std::vector<std::uint32_t> parts =
      machine::cut_graph(graph_of(work, weights), static_cast<std::uint32_t>(ranks));
  Owners owner(experiment.machine.topology->nodes(), no_owner);
  for (std::uint32_t npu = 0; npu < work.npus(); ++npu) {
    owner[work.nodes[npu].value()] = parts[npu];
  }
  return owner;
}

// The heaviest tenant that is left goes to the rank with least to do.
Owners by_tenants(const Experiment& experiment, int ranks, const Weights& weights) {
  const std::vector<Tenant>& tenants = experiment.tenants;
  if (tenants.size() < static_cast<std::size_t>(ranks)) {
    refuse_ranks("tenants", tenants.size(), "tenants", ranks);
  }
  std::vector<std::uint64_t> load(tenants.size());
  for (std::size_t number = 0; number < tenants.size(); ++number) {
    for (const EntityId tile : tenants[number].tiles) {
      load[number] += weight_of(weights, tile);
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
      owner[tile.value()] = static_cast<std::uint32_t>(rank);
    }
  }
  return owner;
}

Owners by_npus(const Experiment& experiment, int ranks, const Weights& weights) {
  const auto& npus = experiment.serving->npus;
  if (npus.size() < static_cast<std::size_t>(ranks)) {
    refuse_ranks("npus", npus.size(), "NPUs", ranks);
  }
  std::vector<std::uint64_t> loads;
  for (const std::vector<EntityId>& cores : npus) {
    std::uint64_t& load = loads.emplace_back();
    for (const EntityId core : cores) {
      load += weight_of(weights, core);
    }
  }
  const auto cuts = machine::even_cuts(loads, static_cast<std::uint32_t>(ranks));
  Owners owner(experiment.machine.topology->nodes(), no_owner);
  for (std::uint32_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    for (std::uint32_t npu = cuts[rank]; npu < cuts[rank + 1]; ++npu) {
      for (const EntityId core : npus[npu]) {
        owner[core.value()] = rank;
      }
    }
  }
  return owner;
}

using Objection = std::string (*)(const Experiment&);
using Cut = Owners (*)(const Experiment&, int, const Weights&);

Cutter cutter(Objection objection, Cut cut) {
  return {objection,
          [objection, cut](const Experiment& experiment, int ranks, const Weights& weights) {
            const machine::Topology& topology = *experiment.machine.topology;
            machine::check_request(topology, ranks, weights);
            if (const std::string fault = objection(experiment); !fault.empty()) {
              throw ConfigError("partition " + fault);
            }
            Owners owner(topology.nodes(), 0);
            if (ranks > 1) {
              owner = cut(experiment, ranks, weights);
              give_idle_nodes(topology, owner);
            }
            return machine::partition_from(topology, ranks, std::move(owner), weights);
          }};
}

std::string needs_graphs(const Experiment& experiment) {
  return experiment.graph ? "" : "'communicators' cuts execution graphs, and there are none";
}

std::string needs_tenants(const Experiment& experiment) {
  return experiment.tenants.empty() ? "'tenants' needs a workload of tenants" : "";
}

std::string needs_requests(const Experiment& experiment) {
  return experiment.serving ? "" : "'npus' cuts a workload of requests ('serving')";
}

const Registration communicators(
    cutters(), {"communicators", "NPUs that talk most stay together (METIS); execution graphs", {}},
    cutter(needs_graphs, by_communicators));
const Registration tenants(cutters(),
                           {"tenants", "whole tenants, of nearly equal work; tenants", {}},
                           cutter(needs_tenants, by_tenants));
const Registration npus(cutters(), {"npus", "runs of whole NPUs of equal work; serving", {}},
                        cutter(needs_requests, by_npus));

}  // namespace
}  // namespace tessera::sim
