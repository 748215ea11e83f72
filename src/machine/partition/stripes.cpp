// Stripes: runs of node numbers.
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

Partition cut_stripes(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  return cut_in_runs(topology, ranks, weights, RunOrder::numbers);
}

const Registration stripes_registration(
    partitioners(),
    {"stripes", "runs of consecutive node numbers, of equal weight; for any machine", {}},
    cut_stripes);

}  // namespace
}  // namespace tessera::machine
