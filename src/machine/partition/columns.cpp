// Columns: runs of nodes, column by column.
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

Partition cut_columns(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  if (!topology.grid()) {
    throw ConfigError("partitioner 'columns' needs a grid (mesh, torus, wafer); use 'metis'");
  }
  return cut_in_runs(topology, ranks, weights, RunOrder::columns);
}

const Registration columns_registration(
    partitioners(),
    {"columns", "runs of nodes column by column, of equal weight; for mesh, torus and wafer", {}},
    cut_columns);

}  // namespace
}  // namespace tessera::machine
