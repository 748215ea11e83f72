// Stripes: runs of node numbers.
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

Partition cut_stripes(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  std::vector<std::uint64_t> loads(topology.nodes(), weights.of_others());
  weights.visit([&](std::size_t node, std::uint32_t weight) { loads[node] = weight; });
  const auto cuts = even_cuts(loads, static_cast<std::uint32_t>(ranks));
  std::vector<std::uint32_t> owner(topology.nodes());
  for (std::uint32_t rank = 0; rank + 1 < cuts.size(); ++rank) {
    for (std::uint32_t node = cuts[rank]; node < cuts[rank + 1]; ++node) {
      owner[node] = rank;
    }
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration stripes_registration(
    partitioners(), {"stripes", "runs of node numbers of equal weight; any machine", {}},
    cut_stripes);

}  // namespace
}  // namespace tessera::machine
