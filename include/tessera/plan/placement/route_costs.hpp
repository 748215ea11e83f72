// What it costs to carry bytes from one node to another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/core/divisor.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::plan {

// A route: its hops, and the time its links take to carry a MiB, summed [ps / MiB]. The latter is
// the number of hops weighted by how slow each of them is; each link's part is rounded up.
struct RouteCost {
  static constexpr std::uint64_t unit = std::uint64_t{1} << 20;  // [B]
  std::uint64_t ps_per_mib = 0;
  std::uint32_t hops = 0;

  // Of so many bytes, in 2^-20 ps.
  Wide of(Bytes bytes) const { return static_cast<Wide>(bytes.count()) * ps_per_mib; }
  friend bool operator==(const RouteCost&, const RouteCost&) = default;
};

// Costs along the topology's default routing. On the grids there are, any other shortest routing
// crosses as many links of each class, so its costs are the same.
//
// A grid with dimension-order routing keeps sums along its rows and columns: O(rows + columns) to
// make where its links are known to be alike along both, else O(nodes); O(1) a query. Anything else
// walks the routes that are asked for as far as they are not known, then O(1), and keeps 4 bytes a
// node and target; not for concurrent use.
class RouteCosts {
 public:
  // Kept by reference. Throws ConfigError when the machine is not `affordable`.
  explicit RouteCosts(const machine::Topology& topology);
  // A grid, or few enough nodes (4096) for a column each.
  static bool affordable(const machine::Topology& topology);

  RouteCost between(EntityId from, EntityId to) const {
    if (!rows_.up.empty()) {
      const Cell a = cell_of(from);
      const Cell b = cell_of(to);
      const RouteCost along_row = columns_.between(a.column, b.column);
      const RouteCost along_column = rows_.between(a.row, b.row);
      return {along_row.ps_per_mib + along_column.ps_per_mib, along_row.hops + along_column.hops};
    }
    if (from == to) {
      return {};
    }
    return by_target_.empty() ? walked(from, to) : distinct_[known(from, to)];
  }

 private:
  struct Cell {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  // Rows or columns: cost of the steps from 0 upwards, and from there back, [size + 1]; the last
  // step is the one that closes a ring.
  struct Axis {
    std::vector<std::uint64_t> up;
    std::vector<std::uint64_t> down;
    std::uint32_t size = 0;
    bool wraps = false;
    RouteCost between(std::uint32_t from, std::uint32_t to) const;
  };

  Cell cell_of(EntityId node) const {
    const std::uint32_t row = columns_a_row_.quotient(node.value());
    return {row, node.value() - row * columns_a_row_.value()};
  }
  std::uint64_t link_cost(EntityId node, unsigned port) const;
  bool try_axes(const machine::Grid& grid);
  std::uint32_t known(EntityId from, EntityId target) const;
  void walk_into(std::vector<std::uint32_t>& column, EntityId from, EntityId target) const;
  RouteCost walked(EntityId from, EntityId to) const;
  std::uint32_t number_of(const RouteCost& cost) const;

  const machine::Topology* topology_;
  std::vector<std::uint64_t> class_cost_;
  Axis rows_;  // empty: no sums along rows and columns
  Axis columns_;
  Divisor columns_a_row_;
  std::unique_ptr<machine::Routing> routing_;
  mutable std::vector<RouteCost> distinct_;
  mutable std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> numbers_;
  mutable std::vector<std::vector<std::uint32_t>> by_target_;  // numbers in distinct_, by source,
                                                               // or unknown;
                                                               // empty: of too many nodes
};

inline RouteCost RouteCosts::Axis::between(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t upward = to >= from ? to - from : to + size - from;
  if (wraps ? upward <= size - upward : to >= from) {
    return {to >= from ? up[to] - up[from] : up[size] - up[from] + up[to], upward};
  }
  return {from >= to ? down[from] - down[to] : down[from] + down[size] - down[to],
          from >= to ? from - to : from + size - to};
}

}  // namespace tessera::plan
