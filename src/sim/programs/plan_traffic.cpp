#include "programs/plan_traffic.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "cuts/predicted_events.hpp"
#include "jobs/joint_work.hpp"
#include "run/known_pairs.hpp"
#include "tessera/network/network.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::sim {
namespace {

constexpr std::size_t most_route_nodes = std::size_t{1} << 25;

Talk talk_of(plan::Group group) {
  switch (group) {
    case plan::Group::data:
    case plan::Group::expert_data:
    case plan::Group::shard:
    case plan::Group::copies:
    case plan::Group::context:
    case plan::Group::expert:
      return Talk::replicas;
    case plan::Group::tied:
      return Talk::tied;
    default:
      return Talk::tensor;
  }
}

std::uint32_t narrowed(std::uint64_t count) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

// What every tile does in one run of each piece of a program.
std::vector<plan::StageWork> work_of_pieces(const plan::Program& program) {
  std::vector<plan::StageWork> works;
  for (std::uint32_t piece = 0; piece < program.pieces.size(); ++piece) {
    plan::Program alone;
    alone.pieces = {program.pieces[piece]};
    alone.schedule = {{{}, 0}};
    works.push_back(plan::work_of(alone));
  }
  return works;
}

}  // namespace

class PlanTraffic::Builder {
 public:
  Builder(PlanTraffic& traffic, const Experiment& experiment)
      : traffic_(traffic),
        experiment_(experiment),
        plan_(*traffic.plan_),
        routes_(predicted_traffic(experiment, *work_of(experiment))),
        collectives_(plan_) {}

  void build() {
    place_groups();
    number_jobs();
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      traffic_.first_flow_.push_back(traffic_.flows_.size());
      traffic_.first_own_.push_back(traffic_.own_.size());
      add_stage(stage);
    }
    traffic_.first_flow_.push_back(traffic_.flows_.size());
    traffic_.first_own_.push_back(traffic_.own_.size());
  }

 private:
  void place_groups() {
    traffic_.group_at_ = SparseTable(experiment_.machine.topology->nodes(), none);
    const std::vector<EntityId>& tiles = plan_.placement.tiles();
    for (std::uint32_t role = 0; role < tiles.size(); ++role) {
      traffic_.group_at_.set(tiles[role].value(), role / plan_.strategy.degrees.tensor);
    }
  }

  void number_jobs() {
    traffic_.first_job_.push_back(0);
    for (const plan::Stage& stage : plan_.stages) {
      const std::uint32_t first = traffic_.first_job_.back();
      traffic_.first_job_.push_back(first +
                                    static_cast<std::uint32_t>(stage.program.pieces.size()));
      traffic_.runs_.resize(traffic_.first_job_.back());
      for (const plan::ScheduleEntry& entry : stage.program.schedule) {
        ++traffic_.runs_[first + entry.piece];
      }
    }
    traffic_.steps_.resize(traffic_.exchanges());
  }

  void add_stage(std::uint32_t stage) {
    const std::vector<plan::StageWork> works = work_of_pieces(plan_.stages[stage].program);
    const plan::Degrees& degrees = plan_.strategy.degrees;
    for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
      for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
        const plan::Role role{stage, replica, shard};
        if (plan_.is_simulated(plan_.placement.number(role))) {
          add_role(role, works);
        }
      }
    }
  }

  void add_role(const plan::Role& role, const std::vector<plan::StageWork>& works) {
    const std::size_t first_route = traffic_.first_node_.size() - 1;
    for (std::uint32_t piece = 0; piece < works.size(); ++piece) {
      first_of_role_ = first_route;
      first_of_job_ = traffic_.flows_.size();
      job_ = traffic_.job(role.stage, piece);
      add_job(role, works[piece]);
      count_steps();
    }
  }

  void add_job(const plan::Role& role, const plan::StageWork& work) {
    const EntityId tile = plan_.placement.tile(role);
    const std::uint32_t number = plan_.placement.number(role);
    add_own(tile, events_of_an_operator * work.operators);
    for (const auto& [key, count] : work.sends) {
      const auto& [peer, traffic, group, bytes] = key;
      if (plan_.leads(group, number)) {
        plan::Role other = role;
        other.stage = plan_.peer_stage(role.stage, peer);
        add(tile, plan_.placement.tile(other), Bytes(bytes), count,
            peer == plan::Peer::next_stage ? Talk::next : Talk::previous);
      }
    }
    for (const auto& [key, count] : work.collectives) {
      const auto group = std::get<plan::Group>(key);
      for (const plan::Sent& sent : collectives_.of(key)[plan_.member_of(group, number)]) {
        const std::uint32_t other = plan_.role_of(group, sent.to, number);
        add(tile, plan_.placement.tile(other), sent.bytes, sent.count * count, talk_of(group));
      }
    }
    for (const auto& access : work.accesses) {
      const std::uint64_t times = access.second;
      experiment_.memory->predict_events(
          experiment_.machine, tile, Bytes(access.first.second), access.first.first,
          [&](EntityId node, std::uint64_t events) { add_own(node, events * times); },
          [&](EntityId from, EntityId to, Bytes bytes, std::uint64_t messages) {
            add(from, to, bytes, messages * times, Talk::memory);
          });
    }
  }

  void add_own(EntityId node, std::uint64_t events) {
    traffic_.events_ += events * traffic_.runs_[job_];
    attribute(node, events);
  }

  // Events that are counted already.
  void attribute(EntityId node, std::uint64_t events) {
    if (events == 0) {
      return;
    }
    if (!traffic_.own_.empty() && traffic_.own_.back().node == node.value() &&
        traffic_.own_.back().job == job_) {
      traffic_.own_.back().events += events;
    } else {
      traffic_.own_.push_back({node.value(), job_, events});
    }
  }

  void add(EntityId from, EntityId to, Bytes bytes, std::uint64_t messages, Talk talk) {
    nodes_.clear();
    std::uint64_t passing = 0;
    std::uint64_t all = 0;
    routes_->visit_runs(from, to, bytes, [&](const network::PredictedTraffic::Run& run) {
      all += run.events * run.nodes;
      if (!nodes_.empty() && nodes_.back() == run.first) {
        return;  // further events of the same node
      }
      if (nodes_.size() == 1 && run.first != to.value()) {
        passing = run.events;
      }
      const std::size_t known = nodes_.size();
      nodes_.resize(known + run.nodes);
      for (std::uint32_t i = 0; i < run.nodes; ++i) {
        nodes_[known + i] = run.first + i * run.step;
      }
    });
    traffic_.events_ += all * messages * traffic_.runs_[job_];
    if (has_no_room()) {
      // What passes counts for the sender: those on the way lie between it and others that send
      // back.
      attribute(from, passing * messages * (nodes_.size() - 2));
      nodes_ = {nodes_.front(), nodes_.back()};
      passing = 0;
    }
    const std::uint32_t route = route_number();
    const auto same = std::find_if(
        traffic_.flows_.begin() + static_cast<std::ptrdiff_t>(first_of_job_), traffic_.flows_.end(),
        [&](const Flow& flow) { return flow.route == route && flow.talk == talk; });
    if (same != traffic_.flows_.end()) {
      same->messages = narrowed(same->messages + messages);
      same->passing = narrowed(same->passing + passing * messages);
    } else {
      traffic_.flows_.push_back(
          {route, job_, narrowed(messages), narrowed(passing * messages), talk});
    }
  }

  // Routes over a whole wafer are too many to be kept with all their nodes.
  bool has_no_room() const {
    return nodes_.size() > 2 && traffic_.route_nodes_.size() + nodes_.size() > most_route_nodes;
  }

  // Of the nodes just walked; the few routes of this role are looked through for it.
  std::uint32_t route_number() {
    for (std::size_t known = first_of_role_; known + 1 < traffic_.first_node_.size(); ++known) {
      const std::size_t first = traffic_.first_node_[known];
      const std::size_t last = traffic_.first_node_[known + 1] - 1;
      if (traffic_.route_nodes_[first] == nodes_.front() &&
          traffic_.route_nodes_[last] == nodes_.back()) {
        return static_cast<std::uint32_t>(known);
      }
    }
    traffic_.route_nodes_.insert(traffic_.route_nodes_.end(), nodes_.begin(), nodes_.end());
    traffic_.first_node_.push_back(traffic_.route_nodes_.size());
    return static_cast<std::uint32_t>(traffic_.first_node_.size() - 2);
  }

  void count_steps() {
    std::array<std::uint64_t, talks> sums{};
    for (std::size_t flow = first_of_job_; flow < traffic_.flows_.size(); ++flow) {
      sums[static_cast<std::size_t>(traffic_.flows_[flow].talk)] += traffic_.flows_[flow].messages;
    }
    for (std::size_t talk = 0; talk < talks; ++talk) {
      std::uint32_t& steps = traffic_.steps_[exchange(job_, static_cast<Talk>(talk))];
      steps = std::max(steps, narrowed(sums[talk]));
    }
  }

  PlanTraffic& traffic_;
  const Experiment& experiment_;
  const plan::Plan& plan_;
  std::unique_ptr<network::PredictedTraffic> routes_;
  plan::CollectiveSends collectives_;
  std::uint32_t job_ = 0;
  std::size_t first_of_role_ = 0;
  std::size_t first_of_job_ = 0;
  std::vector<std::uint32_t> nodes_;
};

PlanTraffic::PlanTraffic(const Experiment& experiment) : plan_(&experiment.plan()) {
  Builder(*this, experiment).build();
}

}  // namespace tessera::sim
