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

std::vector<std::uint32_t> even_cuts(const std::vector<std::uint64_t>& loads, std::uint32_t parts) {
  const auto items = static_cast<std::uint32_t>(loads.size());
  std::uint64_t total = 0;
  for (const std::uint64_t load : loads) {
    total += load;
  }
  std::vector<std::uint32_t> cuts{0};
  std::uint32_t item = 0;
  std::uint64_t before = 0;  // load of the items in front of `item`
  for (std::uint32_t part = 1; part < parts; ++part) {
    // part · total / parts, rounded up, without leaving 64 bits.
    const std::uint64_t target = total / parts * part + (total % parts * part + parts - 1) / parts;
    const std::uint32_t lowest = cuts.back() + 1;
    const std::uint32_t highest = items - (parts - part);
    while (item < lowest || (item < highest && before < target)) {
      before += loads[item++];
    }
    cuts.push_back(item);
  }
  cuts.push_back(items);
  return cuts;
}

Partition partition_of_one(const Topology& topology) {
  Partition partition;
  partition.owner = Owners::one(topology.nodes());
  partition.members.push_back(storage_order(topology));
  return partition;
}

Partition partition_from(const Topology& topology, int ranks, std::vector<std::uint32_t> owner,
                         const Weights& weights) {
  if (ranks == 1) {
    return partition_of_one(topology);
  }
  std::vector<std::vector<EntityId>> members(static_cast<std::size_t>(ranks));
  std::vector<std::uint64_t> loads(members.size());
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    loads[owner[node]] += weights.empty() ? 1 : weights[node];
  }
  for (const EntityId node : storage_order(topology)) {
    members[owner[node.value()]].push_back(node);
  }
  Partition partition;
  partition.ranks = ranks;
  for (std::vector<EntityId>& own : members) {
    ensure(!own.empty(), "a partition left a rank without nodes");
    own.shrink_to_fit();
    partition.members.emplace_back(std::move(own));
  }
  partition.owner = Owners(std::move(owner));
  partition.cut_links = count_cut_links(topology, partition.owner);
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
