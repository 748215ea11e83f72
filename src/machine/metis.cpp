// METIS: k-way partition of any graph.
#include <metis.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "partition_tools.hpp"
#include "reverse_links.hpp"

namespace tessera::machine {
namespace {

// The machine as METIS wants it: undirected, in compressed rows, an edge's weight being the number
// of directed links between its ends.
struct Graph {
  std::vector<idx_t> first{0};
  std::vector<idx_t> neighbours;
  std::vector<idx_t> edge_weights;
  std::vector<idx_t> node_weights;
};

Graph graph_of(const Topology& topology) {
  const ReverseLinks reverse(topology);
  Graph graph;
  std::vector<std::uint32_t> ends;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    ends.clear();
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const Link link = topology.link(node, port);
      if (link.to.valid()) {
        ends.push_back(link.to.value());
      }
    }
    for (const ReverseLinks::Source& source : reverse.into(node)) {
      ends.push_back(source.from.value());
    }
    std::sort(ends.begin(), ends.end());
    for (auto run = ends.begin(); run != ends.end();) {
      const auto after = std::upper_bound(run, ends.end(), *run);
      graph.neighbours.push_back(static_cast<idx_t>(*run));
      graph.edge_weights.push_back(static_cast<idx_t>(after - run));
      run = after;
    }
    if (graph.neighbours.size() > static_cast<std::size_t>(std::numeric_limits<idx_t>::max())) {
      throw ConfigError("partitioner 'metis': the machine has too many links; use 'stripes'");
    }
    graph.first.push_back(static_cast<idx_t>(graph.neighbours.size()));
  }
  return graph;
}

// METIS adds weights in idx_t: scaled down where their sum would not fit, none below one.
std::vector<idx_t> node_weights(const Weights& weights) {
  constexpr std::uint64_t sum_limit = std::uint64_t{1} << 30;
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : weights) {
    sum += weight;
  }
  const std::uint64_t divisor = sum / sum_limit + 1;
  std::vector<idx_t> scaled;
  scaled.reserve(weights.size());
  for (const std::uint32_t weight : weights) {
    scaled.push_back(static_cast<idx_t>(std::max<std::uint64_t>(1, weight / divisor)));
  }
  return scaled;
}

// METIS may leave parts empty when they are small: each takes the last node of the part that has
// the most nodes (the lowest of those).
void fill_empty_parts(std::vector<std::uint32_t>& owner, std::size_t parts) {
  std::vector<std::vector<std::uint32_t>> members(parts);
  for (std::uint32_t node = 0; node < owner.size(); ++node) {
    members[owner[node]].push_back(node);
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    if (members[part].empty()) {
      const auto largest =
          std::max_element(members.begin(), members.end(),
                           [](const auto& a, const auto& b) { return a.size() < b.size(); });
      const std::uint32_t node = largest->back();
      largest->pop_back();
      members[part].push_back(node);
      owner[node] = part;
    }
  }
}

std::vector<std::uint32_t> owners(const Topology& topology, int ranks, const Weights& weights) {
  Graph graph = graph_of(topology);
  graph.node_weights = node_weights(weights);
  auto nodes = static_cast<idx_t>(topology.nodes());
  idx_t constraints = 1;
  auto parts = static_cast<idx_t>(ranks);
  idx_t cut = 0;
  std::vector<idx_t> part(topology.nodes());
  std::vector<idx_t> options(METIS_NOPTIONS);
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  // METIS draws from the random numbers of the process: ranks that are threads take turns, or each
  // would get another partition.
  static std::mutex turn;
  const std::lock_guard lock(turn);
  const int status = METIS_PartGraphKway(
      &nodes, &constraints, graph.first.data(), graph.neighbours.data(),
      graph.node_weights.empty() ? nullptr : graph.node_weights.data(), nullptr,
      graph.edge_weights.data(), &parts, nullptr, nullptr, options.data(), &cut, part.data());
  if (status == METIS_ERROR_MEMORY) {
    throw std::bad_alloc();
  }
  ensure(status == METIS_OK, "METIS_PartGraphKway refused its input");
  return {part.begin(), part.end()};
}

Partition cut(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  std::vector<std::uint32_t> owner(topology.nodes(), 0);
  if (ranks > 1) {
    owner = owners(topology, ranks, weights);
    fill_empty_parts(owner, static_cast<std::size_t>(ranks));
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration registration(
    partitioners(), {"metis", "k-way partition with few cut links (METIS); any machine", {}}, cut);

}  // namespace
}  // namespace tessera::machine
