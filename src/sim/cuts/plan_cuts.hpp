// Cuts of a plan: see cuts.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "cuts/place_cutter.hpp"
#include "cuts/replay.hpp"
#include "programs/plan_times.hpp"
#include "programs/plan_traffic.hpp"
#include "tessera/machine/graph/parts.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

class PlanCuts {
 public:
  // One way to cut.
  struct Cut {
    std::string name;
    machine::Owners owner;
  };

  // Of the experiment's own plan, nodes weighed so; none: all alike. Refers to the experiment.
  PlanCuts(const Experiment& experiment, machine::Weights weights);

  static const std::vector<std::string>& names();
  // All ways of a name for so many ranks, at least 2; none: it cannot.
  std::vector<Cut> ways(const std::string& name, int ranks) const;
  // All ways of all names.
  std::vector<Cut> all(int ranks) const;

  const PlanTraffic& traffic() const { return traffic_; }
  // Of one iteration.
  Replay predict(const machine::Owners& owner, int ranks) const;

 private:
  // Tensor groups, then nodes with a channel and no role; on a vast machine those of them that
  // something goes through.
  using Owners = std::vector<std::uint32_t>;  // [vertices], or no_owner
  // Runs of replicas that are cut together only, and where they lie.
  struct Unit {
    std::uint32_t first = 0;  // replica
    std::uint32_t end = 0;
    std::uint64_t load = 0;
    Place place;
  };
  // A group's messages through a node without a role.
  struct Touch {
    std::uint32_t node = 0;
    std::uint32_t group = 0;
    std::uint64_t events = 0;
    auto ends() const { return std::tie(node, group); }
  };
  struct Edge {
    std::uint32_t from = 0;  // vertices
    std::uint32_t to = 0;
    std::uint64_t messages = 0;
    auto ends() const { return std::tie(from, to); }
  };
  enum class Order : std::uint8_t { number, columns, rows };
  enum class Dealing : std::uint8_t { runs, turns };

  void weigh_groups();
  void find_touched();
  std::vector<std::uint64_t> burden() const;
  void find_channels();
  void merge_touched(std::size_t first);
  std::vector<Unit> units(std::uint32_t ranks) const;
  // [replicas] which of `parts`; empty: fewer units.
  std::vector<std::uint32_t> parts_of_replicas(std::uint32_t parts, Order order) const;
  // [stages] the same; in runs, or dealt out in turn.
  std::vector<std::uint32_t> parts_of_stages(std::uint32_t parts, Dealing dealing) const;
  Owners product(const std::vector<std::uint32_t>& stages,
                 const std::vector<std::uint32_t>& replicas, std::uint32_t replica_parts) const;
  Owners in_order(Order order, std::uint32_t ranks) const;
  void bisect(std::vector<std::uint32_t>& groups, std::size_t first, std::size_t end,
              std::uint32_t rank, std::uint32_t ranks, Owners& owners) const;
  Owners where_few_cross(std::uint32_t ranks) const;
  Owners by_traffic(std::uint32_t ranks) const;
  machine::WeightedGraph make_graph() const;
  static void merge_edges(std::vector<Edge>& edges, std::size_t first);
  std::uint32_t vertex_of(std::uint32_t node) const;
  // The same for all nodes.
  machine::Owners owner_of_nodes(const Owners& owners) const;

  const Experiment& experiment_;
  machine::Weights weights_;
  PlanTraffic traffic_;
  PlanTimes times_;
  std::vector<std::uint64_t> load_;          // [groups]
  std::vector<Place> place_;                 // [groups]
  std::vector<std::uint32_t> channel_node_;  // without a role, ascending
  machine::WeightedGraph graph_;             // of vertices, by messages
  std::vector<Touch> touched_;               // in order of nodes
};

}  // namespace tessera::sim
