// What the tiles of a plan send each other in one iteration, by which pass, and over which nodes:
// what cuts that follow the work are made of and judged by.
//
// Method: the programs are walked as for predicted events (weights.hpp), and every message's route
// is kept, once for each pair of ends. A pass here is a piece of a stage's program ("job"): all
// micro-batches and replicas that run it are alike. O(roles * peers * hops) time and memory; beyond
// 32 M nodes on routes, further routes are kept as their ends alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/sparse_table.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// What a message is for, as far as its time goes: to a stage beside at the end of a pass, in
// collectives of the tensor group, over replicas or over stages that hold the same weights, to or
// from memory.
enum class Talk : std::uint8_t { previous, next, tensor, replicas, tied, memory };
inline constexpr std::size_t talks = 6;

class PlanTraffic {
 public:
  // Messages of one role along one route in one run of a job.
  struct Flow {
    std::uint32_t route = 0;
    std::uint32_t job = 0;
    std::uint32_t messages = 0;
    std::uint32_t passing = 0;  // events at each node between the ends
    Talk talk = Talk::next;
  };
  // Events of a node in one run of a job, beside those of messages.
  struct Own {
    std::uint32_t node = 0;
    std::uint32_t job = 0;
    std::uint64_t events = 0;
  };

  // Of the experiment's own plan; refers to it.
  explicit PlanTraffic(const Experiment& experiment);

  const plan::Plan& plan() const { return *plan_; }
  // Tensor groups: stage * data + replica.
  std::uint32_t groups() const { return static_cast<std::uint32_t>(stages()) * data(); }
  std::uint32_t data() const { return plan_->strategy.degrees.data; }
  std::size_t stages() const { return plan_->stages.size(); }
  // Of the tile's role, or `none`.
  std::uint32_t group_at(std::uint32_t node) const { return group_at_[node]; }
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  // Gives all nodes with a role to `visit(node, group)`, in order.
  template <class Visit>
  void visit_groups(const Visit& visit) const {
    group_at_.visit(visit);
  }

  std::uint32_t job(std::size_t stage, std::uint32_t piece) const {
    return first_job_[stage] + piece;
  }
  std::size_t jobs() const { return first_job_.back(); }
  // [stages + 1]
  const std::vector<std::uint32_t>& first_job() const { return first_job_; }
  // How often a job runs in an iteration.
  std::uint64_t runs(std::uint32_t job) const { return runs_[job]; }

  std::span<const Flow> flows(std::size_t stage) const {
    return std::span(flows_).subspan(first_flow_[stage],
                                     first_flow_[stage + 1] - first_flow_[stage]);
  }
  std::span<const Own> own(std::size_t stage) const {
    return std::span(own_).subspan(first_own_[stage], first_own_[stage + 1] - first_own_[stage]);
  }
  // Nodes from end to end, at least one.
  std::span<const std::uint32_t> route(const Flow& flow) const {
    return std::span(route_nodes_)
        .subspan(first_node_[flow.route], first_node_[flow.route + 1] - first_node_[flow.route]);
  }
  // Exchanges: what one job says in one way.
  static std::size_t exchange(std::uint32_t job, Talk talk) {
    return job * talks + static_cast<std::size_t>(talk);
  }
  std::size_t exchanges() const { return jobs() * talks; }
  // Messages that one role sends in it at most, in one run.
  std::uint32_t steps(std::size_t exchange) const { return steps_[exchange]; }
  // Of an iteration, without the first event of each tile.
  std::uint64_t events() const { return events_; }

 private:
  class Builder;

  const plan::Plan* plan_;
  SparseTable group_at_;
  std::vector<std::uint32_t> first_job_;
  std::vector<std::uint64_t> runs_;
  std::vector<std::size_t> first_flow_;
  std::vector<Flow> flows_;
  std::vector<std::size_t> first_own_;
  std::vector<Own> own_;
  std::vector<std::size_t> first_node_{0};
  std::vector<std::uint32_t> route_nodes_;
  std::vector<std::uint32_t> steps_;
  std::uint64_t events_ = 0;
};

}  // namespace tessera::sim
