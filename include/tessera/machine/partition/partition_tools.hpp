// What the partitioners share.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/machine/partition/partition.hpp"

namespace tessera::machine {

// Throws ConfigError when there are fewer nodes than ranks or less than one rank.
void check_request(const Topology& topology, int ranks, const Weights& weights);

// Loads of a run of items.
class RunOfLoads {
 public:
  explicit RunOfLoads(const std::vector<std::uint64_t>& loads);
  // Of items most of which are alike: takes memory for the others alone.
  // `others`: items whose load is not `usual`, with their loads, in any order.
  RunOfLoads(std::uint32_t items, std::uint64_t usual,
             std::vector<std::pair<std::uint32_t, std::uint64_t>> others);

  std::uint32_t size() const { return items_; }
  // Of the items in front of `item` together.
  std::uint64_t before(std::uint32_t item) const;

 private:
  std::uint32_t items_;
  std::uint64_t usual_;
  std::vector<std::uint32_t> others_;  // ascending
  std::vector<std::uint64_t> more_;    // [others + 1] of those in front, beyond the usual load
};

// Cuts a run of items into `parts` runs of nearly equal load, each with at least one item: the
// first item of every part, and the number of items at the end. Equal loads give lengths that
// differ by one at most. O(parts · log² items). Requires 1 <= parts <= loads.size().
std::vector<std::uint32_t> even_cuts(const RunOfLoads& loads, std::uint32_t parts);

// How the nodes of a run follow each other.
enum class RunOrder : std::uint8_t {
  numbers,
  columns,  // of a grid, one after the other
};

// Runs of nodes of nearly equal weight, one a rank. Vast machines are not looked at node by node.
// Requires a request that has been checked.
Partition cut_in_runs(const Topology& topology, int ranks, const Weights& weights, RunOrder order);

// The owners of such runs, which begin at `cuts` and end at the last of these, by parts of a grid.
Owners banded_runs(const Grid& grid, const std::vector<std::uint32_t>& cuts, RunOrder order);

// Sorted, each once: where bands of a grid begin.
std::vector<std::uint32_t> once_each(std::vector<std::uint32_t> places);

// One rank has all: takes no memory for its nodes.
Partition partition_of_one(const Topology& topology);

// Whether a machine is a grid of so many nodes that those which no work touches are not looked at
// one by one: it is cut by parts of the grid (GridParts), and dead links count as any.
bool is_vast(const Topology& topology);

// Fills in the members, the cut and the imbalance.
Partition partition_from(const Topology& topology, int ranks, Owners owner, const Weights& weights);

}  // namespace tessera::machine
