#include "tessera/machine/partition/partition.hpp"

#include <algorithm>
#include <utility>

#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::machine {
namespace {

// Calls visit(node) for all nodes: on a grid in small blocks, so that neighbours lie close together
// in a rank's arrays; otherwise in order of numbers.
template <class Visit>
void for_each_in_storage_order(const Topology& topology, const Visit& visit) {
  constexpr std::uint32_t block = 16;
  const std::optional<Grid> grid = topology.grid();
  if (!grid) {
    for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
      visit(EntityId(node));
    }
    return;
  }
  for (std::uint32_t top = 0; top < grid->rows; top += block) {
    const std::uint32_t bottom = std::min(top + block, grid->rows);
    for (std::uint32_t left = 0; left < grid->columns; left += block) {
      const std::uint32_t right = std::min(left + block, grid->columns);
      for (std::uint32_t row = top; row < bottom; ++row) {
        for (std::uint32_t column = left; column < right; ++column) {
          visit(grid->node(row, column));
        }
      }
    }
  }
}

std::uint64_t count_cut_links(const Topology& topology, const std::vector<std::uint32_t>& owner) {
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

Partition partition_from(const Topology& topology, int ranks, std::vector<std::uint32_t> owner,
                         const Weights& weights) {
  Partition partition;
  partition.ranks = ranks;
  partition.owner = std::move(owner);
  partition.members.resize(static_cast<std::size_t>(ranks));
  std::vector<std::uint64_t> loads(partition.members.size());
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    loads[partition.owner[node]] += weights.empty() ? 1 : weights[node];
  }
  for_each_in_storage_order(topology, [&](EntityId node) {
    partition.members[partition.owner[node.value()]].push_back(node);
  });
  for (std::vector<EntityId>& members : partition.members) {
    ensure(!members.empty(), "a partition left a rank without nodes");
    members.shrink_to_fit();
  }
  partition.cut_links = ranks == 1 ? 0 : count_cut_links(topology, partition.owner);
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
