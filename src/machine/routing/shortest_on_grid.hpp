// Shortest ways on grids, whose distances follow from arithmetic but for those around dead links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "routing/shortest_ports.hpp"
#include "tessera/core/divisor.hpp"
#include "tessera/machine/routing/distance.hpp"
#include "tessera/machine/routing/known_ports.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// Between nodes of a grid whose links are alike along its rows and along its columns.
class GridDistances {
 public:
  explicit GridDistances(const Topology& sound);  // without dead links
  Distance between(EntityId from, EntityId to) const;

 private:
  // Rows, or columns.
  struct Axis {
    std::vector<SimTime> sums;  // of latencies from the first one on; the last step closes a ring
    bool wraps = false;
    Distance between(std::uint32_t from, std::uint32_t to) const;
  };

  Axis rows_;
  Axis columns_;
  Divisor columns_a_row_;
};

// The ways of ShortestPathRouting, for grids of more nodes than are searched as a whole. For each
// target that is asked for, the distances of nodes are kept that dead links put further away from
// it: up to `most_kept` of them, and those of one target. They are found from the links on, as by
// G. Ramalingam, T. Reps, "An incremental algorithm for a generalization of the shortest-path
// problem", J. Algorithms 21 (1996), doi:10.1006/jagm.1996.0046. O(dead links + such nodes * log)
// once a target, then O(log). One dead link puts a part of one row or column further away; a long
// wall of them up to half of the grid. Not for concurrent use.
class ShortestOnGrid {
 public:
  static constexpr std::size_t most_kept = std::size_t{1} << 20;  // 56 MB

  // Whether the topology is a grid whose ways are the shorter the less their latency is.
  static bool fits(const Topology& topology);
  // Whether searches of such a grid as a whole would take long.
  static bool pays(const Topology& topology);

  ShortestOnGrid(const Topology& topology, bool spread);  // kept by reference
  // Port towards `target`; here != target. Throws ModelError when `target` cannot be reached.
  unsigned next_port(EntityId here, EntityId target) const;
  std::size_t kept() const { return kept_; }

 private:
  using Detours = std::vector<std::pair<std::uint32_t, Distance>>;  // by node, in order
  unsigned find_port(EntityId here, EntityId target) const;
  const Detours& detours_to(EntityId target) const;

  const Topology* topology_;
  std::shared_ptr<const Distances> measure_;
  GridDistances sound_;
  std::vector<DeadLink> dead_;
  mutable ShortestPorts ports_;
  mutable KnownPorts known_;
  mutable std::unordered_map<std::uint32_t, Detours> detours_;  // by target
  mutable std::size_t kept_ = 0;                                // of all
};

}  // namespace tessera::machine
