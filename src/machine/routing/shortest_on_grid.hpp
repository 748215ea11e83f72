// Shortest ways on grids, whose distances follow from arithmetic but for those around dead links.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
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

// The ways of ShortestPathRouting. What is kept does not grow with the machine: for each target
// that is asked for, the distances of nodes that dead links put further away from it. These are
// found from the links on, as by G. Ramalingam, T. Reps, "An incremental algorithm for a
// generalization of the shortest-path problem", J. Algorithms 21 (1996),
// doi:10.1006/jagm.1996.0046. O(dead links + such nodes * log) once a target, then O(1). Ports that
// were asked for are kept: on grids of few nodes all of them, up to 64 MiB. Not for concurrent use.
class ShortestOnGrid {
 public:
  // Whether the topology is such a grid, and its ways are the shorter the less their latency is.
  static bool fits(const Topology& topology);

  ShortestOnGrid(const Topology& topology, bool spread);  // kept by reference
  // Port towards `target`; here != target. Throws ModelError when `target` cannot be reached.
  unsigned next_port(EntityId here, EntityId target) const;

 private:
  using Detours = std::unordered_map<std::uint32_t, Distance>;  // by node
  using Column = std::vector<std::uint8_t>;                     // [nodes] ports, or unknown
  // Null where columns have no room.
  Column* column_for(EntityId target) const;
  unsigned find_port(EntityId here, EntityId target) const;
  const Detours& detours_to(EntityId target) const;

  const Topology* topology_;
  std::shared_ptr<const Distances> measure_;
  GridDistances sound_;
  std::vector<DeadLink> dead_;
  mutable ShortestPorts ports_;
  mutable KnownPorts known_;
  mutable std::vector<Column> columns_;  // by target; none on grids of many nodes
  mutable std::uint64_t column_bytes_ = 0;
  mutable std::unordered_map<std::uint32_t, Detours> detours_;  // by target
};

}  // namespace tessera::machine
