// Which NPUs of graphs stay together: those that talk most.
#include "graphs/cut.hpp"

#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/machine/graph/parts.hpp"

namespace tessera::sim {
namespace {

using machine::Weights;
using Npus = std::vector<std::uint32_t>;

// Those with nodes, where there is one for each rank.
Npus npus_to_cut(const executor::GraphWork& work, std::uint32_t ranks) {
  Npus npus;
  for (std::uint32_t npu = 0; npu < work.npus(); ++npu) {
    if (work.survey.at_work[npu]) {
      npus.push_back(npu);
    }
  }
  if (npus.size() < ranks) {
    npus.resize(work.npus());
    std::iota(npus.begin(), npus.end(), 0U);
  }
  return npus;
}

// What the graphs of some NPUs say of whom they talk to: how often in each communicator (the empty
// name: all), and messages to other NPUs.
struct Talks {
  std::map<std::string, std::uint64_t> groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> messages;
};

// The first nodes of some NPUs stand for all: programs repeat themselves, and NPUs are alike.
Talks look_at(const executor::GraphWork& work, const Npus& npus) {
  constexpr std::size_t most_npus = 64;
  constexpr std::size_t most_nodes = 1024;
  Talks talks;
  const std::size_t apart = (npus.size() + most_npus - 1) / most_npus;
  for (std::size_t place = 0; place < npus.size(); place += apart) {
    const std::uint32_t npu = npus[place];
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
  // `all`: how many NPUs there are.
  TalkGraph(const Npus& npus, std::uint32_t all)
      : npus_(npus), vertex_of_(all, none), edges_(npus.size()) {
    for (std::uint32_t vertex = 0; vertex < npus.size(); ++vertex) {
      vertex_of_.set(npus[vertex], vertex);
    }
  }

  void add(std::uint32_t one, std::uint32_t other, std::uint64_t count) {
    const std::uint32_t a = vertex_of_[one];
    const std::uint32_t b = vertex_of_[other];
    if (a != b && a != none && b != none) {
      edges_[a][b] += count;
      edges_[b][a] += count;
    }
  }
  machine::WeightedGraph take(const executor::GraphWork& work, const Weights& weights) const {
    machine::WeightedGraph graph;
    for (std::size_t vertex = 0; vertex < edges_.size(); ++vertex) {
      for (const auto& [other, count] : edges_[vertex]) {
        graph.neighbours.push_back(other);
        graph.edge_weights.push_back(count);
      }
      graph.first.push_back(graph.neighbours.size());
      graph.vertex_weights.push_back(weights.of(work.nodes[npus_[vertex]].value()));
    }
    return graph;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  const Npus& npus_;
  SparseTable vertex_of_;  // [NPUs]
  std::vector<std::map<std::uint32_t, std::uint64_t>> edges_;
};

// An edge from each member of a communicator to the next one, as often as it is used: those that
// are used most stay whole.
machine::WeightedGraph graph_of(const executor::GraphWork& work, const Npus& npus,
                                const Weights& weights) {
  const Talks talks = look_at(work, npus);
  TalkGraph graph(npus, work.npus());
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

}  // namespace

SparseTable cut_by_communicators(const executor::GraphWork& work, std::size_t nodes,
                                 std::uint32_t ranks, const Weights& weights) {
  const Npus npus = npus_to_cut(work, ranks);
  const std::vector<std::uint32_t> parts = machine::cut_graph(graph_of(work, npus, weights), ranks);
  SparseTable owner(nodes, no_owner);
  for (std::size_t place = 0; place < npus.size(); ++place) {
    owner.set(work.nodes[npus[place]].value(), parts[place]);
  }
  return owner;
}

}  // namespace tessera::sim
