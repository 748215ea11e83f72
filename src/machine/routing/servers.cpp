// Servers: runs of whole servers of a cluster, with the switches above them.
#include <optional>
#include <string>
#include <utility>

#include "tessera/machine/partition/partition_tools.hpp"
#include "tessera/machine/topology/cluster.hpp"

namespace tessera::machine {
namespace {

using Kind = ClusterPlace::Kind;

// The accelerator whose rank a node shares: for a leaf one below it, rails of a group spread over
// its servers; spines are spread over all servers.
std::uint32_t home_of(const Cluster& cluster, EntityId node) {
  const ClusterPlace place = cluster.place(node);
  std::uint32_t server = place.server;
  std::uint32_t index = 0;
  switch (place.kind) {
    case Kind::accelerator:
      return node.value();
    case Kind::hub:
      break;
    case Kind::nic:
      index = place.index * cluster.share();
      break;
    case Kind::leaf: {
      const std::uint32_t leaves = cluster.group_leaves();
      const std::uint32_t group = place.index / leaves;
      server = group * cluster.leaf_servers +
               static_cast<std::uint32_t>(std::uint64_t{place.index % leaves} *
                                          cluster.group_servers(group) / leaves);
      break;
    }
    default:
      server =
          static_cast<std::uint32_t>(std::uint64_t{place.index} * cluster.servers / cluster.spines);
  }
  return cluster.accelerator(server, index).value();
}

Partition cut_by_servers(const Topology& topology, int ranks, const Weights& weights) {
  check_request(topology, ranks, weights);
  const std::optional<Cluster> cluster = topology.cluster();
  if (!cluster) {
    throw ConfigError("partitioner 'servers' needs a cluster; use 'metis'");
  }
  const auto parts = static_cast<std::uint32_t>(ranks);
  const std::uint32_t accelerators = cluster->first_hub();
  if (parts > accelerators) {
    throw ConfigError("partitioner 'servers' cannot cut " + std::to_string(accelerators) +
                      " accelerators over " + std::to_string(ranks) +
                      " ranks; use fewer ranks or 'stripes'");
  }
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  // Servers stay whole while there is one for each rank.
  const std::uint32_t item = parts <= cluster->servers ? cluster->accelerators : 1;
  std::vector<std::uint64_t> loads(accelerators / item);
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    loads[home_of(*cluster, EntityId(node)) / item] += weights.of(node);
  }
  const auto cuts = even_cuts(RunOfLoads(loads), parts);
  std::vector<std::uint32_t> owner_of_item(loads.size());
  for (std::uint32_t rank = 0; rank < parts; ++rank) {
    for (std::uint32_t i = cuts[rank]; i < cuts[rank + 1]; ++i) {
      owner_of_item[i] = rank;
    }
  }
  std::vector<std::uint32_t> owner(topology.nodes());
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    owner[node] = owner_of_item[home_of(*cluster, EntityId(node)) / item];
  }
  return partition_from(topology, ranks, std::move(owner), weights);
}

const Registration servers_registration(
    partitioners(),
    {"servers", "runs of whole servers of equal weight, with their switches; for cluster", {}},
    cut_by_servers);

}  // namespace
}  // namespace tessera::machine
