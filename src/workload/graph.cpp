#include "tessera/workload/graph.hpp"

#include "tessera/workload/graph_workload.hpp"

namespace tessera::workload {

bool counts_parts(collective::Kind kind) {
  return kind == collective::Kind::all_gather || kind == collective::Kind::gather ||
         kind == collective::Kind::scatter;
}

void GraphSurvey::add_collective(const GraphNode& node, std::uint64_t nodes) {
  collectives[static_cast<std::size_t>(node.collective)] += nodes;
  const bool is_unequal = !node.parts.empty();
  unequal_collectives += is_unequal ? nodes : 0;
  const bool is_special = is_unequal || !node.dimensions.empty() || node.bytes == Bytes();
  special_collectives += is_special ? nodes : 0;
  if (!is_special && collective_sizes.size() <= most_sizes) {
    collective_sizes.emplace(node.collective, node.bytes.count());
  }
  has_channels = has_channels || node.channels > 1;
}

Registry<GraphWorkloadMaker>& graph_workloads() {
  static Registry<GraphWorkloadMaker> registry("graph workload");
  return registry;
}

const config::Key<std::uint64_t>& samples_of_graphs() {
  static const config::Key<std::uint64_t> key{
      "samples", 1, "samples per iteration, from which throughput is computed",
      config::between<std::uint64_t>(1, 1'000'000'000)};
  return key;
}

}  // namespace tessera::workload
