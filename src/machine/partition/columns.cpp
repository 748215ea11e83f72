// Columns: runs of nodes, column by column.
#include <optional>
#include <utility>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

Partition cut_columns(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  const std::optional<Grid> grid = topology.grid();
  if (!grid) {
    throw ConfigError("partitioner 'columns' needs a grid (mesh, torus, wafer); use 'metis'");
  }
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  const auto node_at = [&](std::uint32_t place) {
    return grid->node(place % grid->rows, place / grid->rows).value();
  };
  std::vector<std::uint64_t> loads(topology.nodes(), 1);
  if (!weights.empty()) {
    for (std::uint32_t place = 0; place < topology.nodes(); ++place) {
      loads[place] = weights[node_at(place)];
    }
  }
  const auto cuts = even_cuts(loads, static_cast<std::uint32_t>(ranks));
  std::vector<std::uint32_t> owner(topology.nodes());
  for (std::uint32_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    for (std::uint32_t place = cuts[rank]; place < cuts[rank + 1]; ++place) {
      owner[node_at(place)] = rank;
    }
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration columns_registration(
    partitioners(),
    {"columns", "runs of nodes column by column, of equal weight; mesh, torus and wafer", {}},
    cut_columns);

}  // namespace
}  // namespace tessera::machine
