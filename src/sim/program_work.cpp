// Work that is the programs of a plan.
#include <utility>

#include "tessera/plan/stage_work.hpp"
#include "work.hpp"

namespace tessera::sim {
namespace {

constexpr std::uint64_t events_of_an_operator = 2;  // asked for, and done

// Events of each node, predicted from the plan.
class Prediction {
 public:
  explicit Prediction(const Experiment& experiment)
      : experiment_(experiment),
        plan_(experiment.plan),
        events_(experiment.machine.topology->nodes()),
        traffic_(experiment.network->predict_traffic(experiment.machine)),
        collectives_(plan_) {}

  std::vector<std::uint64_t> make() {
    const plan::Degrees& degrees = plan_.strategy.degrees;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const plan::StageWork work = plan::work_of(plan_.stages[stage].program);
      for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
        for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
          const plan::Role role{stage, replica, shard};
          if (plan_.is_simulated(plan_.placement.number(role))) {
            add_tile(role, work);
          }
        }
      }
    }
    return std::move(events_);
  }

 private:
  void add(EntityId node, std::uint64_t events) { events_[node.value()] += events; }

  void message(EntityId from, EntityId to, Bytes bytes, std::uint64_t count) {
    traffic_->visit_events(from, to, bytes,
                           [&](EntityId node, std::uint64_t events) { add(node, events * count); });
  }

  void add_tile(const plan::Role& role, const plan::StageWork& work) {
    const EntityId tile = plan_.placement.tile(role);
    const std::uint32_t number = plan_.placement.number(role);
    add(tile, events_of_an_operator * work.operators);
    for (const auto& [key, count] : work.sends) {
      if (!plan_.leads(std::get<plan::Group>(key), number)) {
        continue;
      }
      plan::Role peer = role;
      peer.stage = plan_.peer_stage(role.stage, std::get<plan::Peer>(key));
      message(tile, plan_.placement.tile(peer), Bytes(std::get<std::uint64_t>(key)), count);
    }
    for (const auto& [key, count] : work.accesses) {
      const std::uint64_t times = count;
      experiment_.memory->predict_events(
          experiment_.machine, tile, Bytes(key.second), key.first,
          [&](EntityId node, std::uint64_t events) { add(node, events * times); },
          [&](EntityId from, EntityId to, Bytes bytes, std::uint64_t messages) {
            message(from, to, bytes, messages * times);
          });
    }
    for (const auto& [key, count] : work.collectives) {
      const auto group = std::get<plan::Group>(key);
      for (const plan::Sent& sent : collectives_.of(key)[plan_.member_of(group, number)]) {
        const std::uint32_t peer = plan_.role_of(group, sent.to, number);
        message(tile, plan_.placement.tile(peer), sent.bytes, sent.count * count);
      }
    }
  }

  const Experiment& experiment_;
  const plan::Plan& plan_;
  std::vector<std::uint64_t> events_;
  std::unique_ptr<network::PredictedTraffic> traffic_;
  plan::CollectiveSends collectives_;
};

class ProgramWork final : public Work {
 public:
  explicit ProgramWork(const Experiment& experiment)
      : experiment_(experiment), plan_(experiment.plan) {}

  std::uint64_t tiles() const override { return plan_.strategy.degrees.tiles(); }
  std::uint32_t iterations() const override { return experiment_.options.iterations; }
  std::uint64_t instructions() const override { return plan_.instructions(); }
  DataType data_type() const override { return experiment_.workload.data_type; }
  std::uint64_t samples() const override { return experiment_.workload.samples; }
  double flops_of_sample() const override {
    return static_cast<double>(experiment_.workload.flops_per_sample().count());
  }

  std::vector<std::string> phases() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < plan::phases; ++i) {
      names.push_back(to_string(static_cast<plan::Phase>(i)));
    }
    return names;
  }
  std::vector<executor::Activity> activities() const override {
    std::vector<executor::Activity> activities;
    for (std::size_t i = 0; i < executor::program_activities; ++i) {
      activities.push_back(static_cast<executor::Activity>(i));
    }
    return activities;
  }
  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      parts.push_back({"stage " + std::to_string(stage), plan_.simulated_tiles()});
    }
    return parts;
  }
  std::size_t part_of(std::uint32_t role) const override {
    return plan_.placement.role(role).stage;
  }
  const std::vector<std::string>& names() const override { return plan_.names; }
  std::vector<EntityId> samples_of_parts() const override {
    std::vector<EntityId> tiles;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      tiles.push_back(plan_.placement.tile({stage, 0, 0}));
    }
    return tiles;
  }
  void describe(EntityId node, trace::NodeRow& row) const override {
    const std::uint32_t number = plan_.placement.role_number(node);
    if (number != plan::Placement::unused) {
      const plan::Role role = plan_.placement.role(number);
      row.stage = role.stage;
      row.replica = role.replica;
      row.shard = role.shard;
    }
  }

  std::size_t shared_bytes() const override { return plan_.resident_bytes(); }
  std::size_t bytes_a_tile() const override { return executor::bytes_per_tile(); }
  std::vector<std::uint64_t> predicted_events() const override {
    return Prediction(experiment_).make();
  }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    return make_model_cores(experiment_, members);
  }
  std::unique_ptr<executor::Executor> make_executor(std::span<const EntityId> members,
                                                    executor::Observer* observer) const override {
    return executor::make_executor({experiment_.machine, plan_, members,
                                    experiment_.options.iterations, executor_slot, network_slot,
                                    memory_slot, compute_slot, observer});
  }

 private:
  const Experiment& experiment_;
  const plan::Plan& plan_;
};

}  // namespace

std::unique_ptr<Work> work_of_programs(const Experiment& experiment) {
  return std::make_unique<ProgramWork>(experiment);
}

std::unique_ptr<compute::Compute> make_model_cores(const Experiment& experiment,
                                                   std::span<const EntityId> members) {
  return experiment.compute->build(
      {experiment.machine, members, experiment.plan.operations, compute_slot, memory_slot});
}

std::unique_ptr<Work> work_of(const Experiment& experiment) {
  if (experiment.chip) {
    return work_of_chip(experiment);
  }
  if (experiment.serving) {
    return work_of_serving(experiment);
  }
  return experiment.graph ? work_of_graphs(experiment) : work_of_programs(experiment);
}

}  // namespace tessera::sim
