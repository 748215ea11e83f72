#include "tessera/machine/partition/partition.hpp"

#include <algorithm>
#include <utility>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// On a grid in small blocks, otherwise in order of numbers.
NodeOrder storage_order(const Topology& topology) {
  const std::optional<Grid> grid = topology.grid();
  return grid ? NodeOrder::in_blocks(*grid) : NodeOrder::up_to(topology.nodes());
}

// By a list of owners.
std::vector<NodeOrder> members_of(const Topology& topology, const Owners& owner,
                                  std::size_t ranks) {
  std::vector<std::vector<EntityId>> members(ranks);
  for (const EntityId node : storage_order(topology)) {
    members[owner[node.value()]].push_back(node);
  }
  std::vector<NodeOrder> orders;
  for (std::vector<EntityId>& own : members) {
    own.shrink_to_fit();
    orders.emplace_back(std::move(own));
  }
  return orders;
}

// By parts of a grid.
std::vector<NodeOrder> members_of(const std::shared_ptr<const GridParts>& parts,
                                  std::size_t ranks) {
  std::vector<NodeOrder> orders;
  const std::vector<std::uint64_t> sizes = parts->sizes(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    orders.push_back(NodeOrder::of_part(parts, rank, sizes[rank]));
  }
  return orders;
}

std::uint64_t count_cut_links(const Topology& topology, const Owners& owner) {
  std::uint64_t cut = 0;
  for (std::uint32_t n = 0; n < topology.nodes(); ++n) {
    const EntityId node(n);
    for (unsigned port = 0; port < topology.ports(node); ++port) {
      const Link link = topology.link(node, port);
      cut += link.to.valid() && owner[link.to.value()] != owner[n] ? 1 : 0;
    }
  }
  return cut;
}

}  // namespace

void check_request(const Topology& topology, int ranks, const Weights& weights) {
  ensure(weights.empty() || weights.size() == topology.nodes(),
         "a partition needs a weight for every node or none");
  if (ranks < 1) {
    throw ConfigError("a machine cannot be cut into " + std::to_string(ranks) + " regions");
  }
  if (topology.nodes() < static_cast<std::uint32_t>(ranks)) {
    throw ConfigError("a machine of " + std::to_string(topology.nodes()) +
                      " nodes cannot be cut over " + std::to_string(ranks) +
                      " ranks; use fewer ranks");
  }
}

Partition partition_of_one(const Topology& topology) {
  Partition partition;
  partition.owner = Owners::one(topology.nodes());
  partition.members.push_back(storage_order(topology));
  return partition;
}

bool is_vast(const Topology& topology) {
  constexpr std::uint32_t many = 1U << 20;
  return topology.nodes() > many && topology.grid().has_value();
}

std::vector<std::uint64_t> loads_of(const Partition& partition, const Weights& weights) {
  std::vector<std::uint64_t> loads;
  for (const NodeOrder& own : partition.members) {
    loads.push_back(own.size() * weights.of_others());
  }
  weights.visit([&](std::size_t node, std::uint32_t weight) {
    loads[partition.owner[node]] += weight - weights.of_others();
  });
  return loads;
}

Partition partition_from(const Topology& topology, int ranks, Owners owner,
                         const Weights& weights) {
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  const auto all = static_cast<std::size_t>(ranks);
  Partition partition;
  partition.ranks = ranks;
  partition.members =
      owner.parts() ? members_of(owner.parts(), all) : members_of(topology, owner, all);
  for (const NodeOrder& own : partition.members) {
    ensure(!own.empty(), "a partition left a rank without nodes");
  }
  partition.cut_links =
      owner.parts() ? owner.parts()->cut_links() : count_cut_links(topology, owner);
  partition.owner = std::move(owner);
  const std::vector<std::uint64_t> loads = loads_of(partition, weights);
  double total = 0;
  for (const std::uint64_t load : loads) {
    total += static_cast<double>(load);
  }
  if (total > 0) {
    partition.imbalance =
        static_cast<double>(*std::max_element(loads.begin(), loads.end())) * ranks / total;
  }
  return partition;
}

Registry<Partitioner>& partitioners() {
  static Registry<Partitioner> registry("partitioner");
  return registry;
}

std::string default_partitioner(const Topology& topology) {
  return topology.grid() ? "blocks" : topology.cluster() ? "servers" : "metis";
}

}  // namespace tessera::machine
