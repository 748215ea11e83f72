// Events of each node, predicted from the plan.
#include <utility>

#include "tessera/plan/stage_work.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

constexpr std::uint64_t events_of_an_operator = 2;  // asked for, and done

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

}  // namespace

std::vector<std::uint64_t> predicted_events(const Experiment& experiment) {
  return Prediction(experiment).make();
}

}  // namespace tessera::sim
