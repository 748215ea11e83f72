// The partitioner `metis`: the machine's links as a graph.
#include <algorithm>
#include <utility>

#include "graph/reverse_links.hpp"
#include "tessera/machine/graph/parts.hpp"
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// An edge's weight is the number of directed links between its ends.
WeightedGraph graph_of(const Topology& topology) {
  const ReverseLinks reverse(topology);
  WeightedGraph graph;
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
      graph.neighbours.push_back(*run);
      graph.edge_weights.push_back(static_cast<std::uint64_t>(after - run));
      run = after;
    }
    graph.first.push_back(graph.neighbours.size());
  }
  return graph;
}

Partition cut(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  WeightedGraph graph = graph_of(topology);
  const std::vector<std::uint32_t> listed = weights.listed();
  graph.vertex_weights.assign(listed.begin(), listed.end());
  return partition_from(topology, ranks, cut_graph(graph, static_cast<std::uint32_t>(ranks)),
                        weights);
}

const Registration metis_registration(
    partitioners(), {"metis", "k-way partition with few cut links (METIS); any machine", {}}, cut);

}  // namespace
}  // namespace tessera::machine
