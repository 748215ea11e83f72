// Events of each node, predicted from the plan.
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

using plan::Action;
using plan::Instruction;

constexpr std::uint64_t events_of_an_operator = 2;  // asked for, and done

// What every tile of a stage does in an iteration, alike instructions counted together.
struct StageWork {
  std::uint64_t operators = 0;
  std::map<std::pair<plan::Peer, std::uint64_t>, std::uint64_t> sends;  // (peer, bytes)
  std::map<std::pair<bool, std::uint64_t>, std::uint64_t> accesses;     // (write, bytes)
  std::map<std::tuple<plan::Group, std::uint8_t, std::uint64_t>, std::uint64_t> collectives;
};

StageWork work_of(const plan::Program& program) {
  std::vector<std::uint64_t> times(program.pieces.size());
  for (const plan::ScheduleEntry& entry : program.schedule) {
    ++times[entry.piece];
  }
  StageWork work;
  for (std::size_t piece = 0; piece < program.pieces.size(); ++piece) {
    for (const Instruction& instruction : program.pieces[piece]) {
      switch (instruction.action) {
        case Action::execute:
        case Action::elapse:
        case Action::start_elapse:
          work.operators += times[piece];
          break;
        case Action::send:
          work.sends[{instruction.peer, instruction.bytes}] += times[piece];
          break;
        case Action::read:
        case Action::write:
          work.accesses[{instruction.action == Action::write, instruction.bytes}] += times[piece];
          break;
        case Action::collective:
        case Action::start_collective:
          work.collectives[{instruction.group, instruction.collective, instruction.bytes}] +=
              times[piece];
          break;
        case Action::receive:
        case Action::wait_collectives:
        case Action::wait_access:
          break;  // what is waited for raises the event
      }
    }
  }
  return work;
}

class Prediction {
 public:
  explicit Prediction(const Experiment& experiment)
      : experiment_(experiment),
        plan_(experiment.plan),
        events_(experiment.machine.topology->nodes()),
        traffic_(experiment.network->predict_traffic(experiment.machine)) {}

  std::vector<std::uint64_t> make() {
    const plan::Degrees& degrees = plan_.strategy.degrees;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const StageWork work = work_of(plan_.stages[stage].program);
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
  // What one member of a group sends in a collective.
  struct Sent {
    collective::Member to = 0;
    Bytes bytes;
    std::uint64_t count = 0;
  };
  using MemberSends = std::vector<std::vector<Sent>>;  // [members]
  using Collective = std::tuple<plan::Group, std::uint8_t, std::uint64_t>;

  void add(EntityId node, std::uint64_t events) { events_[node.value()] += events; }

  void message(EntityId from, EntityId to, Bytes bytes, std::uint64_t count) {
    traffic_->visit_events(from, to, bytes,
                           [&](EntityId node, std::uint64_t events) { add(node, events * count); });
  }

  void add_tile(const plan::Role& role, const StageWork& work) {
    const EntityId tile = plan_.placement.tile(role);
    add(tile, events_of_an_operator * work.operators);
    for (const auto& [key, count] : work.sends) {
      plan::Role peer = role;
      const auto stages = static_cast<std::uint32_t>(plan_.stages.size());
      peer.stage =
          (role.stage + (key.first == plan::Peer::next_stage ? 1 : stages - 1)) % stages;
      message(tile, plan_.placement.tile(peer), Bytes(key.second), count);
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
      const plan::GroupShape& shape = plan_.group(std::get<0>(key));
      const std::uint32_t number = plan_.placement.number(role);
      const std::uint32_t place = number % plan_.placement.stage_tiles();
      for (const Sent& sent : sends_of(key)[shape.member(place)]) {
        const std::uint32_t peer = number - place + shape.place_of(sent.to, place);
        message(tile, plan_.placement.tile(peer), sent.bytes, sent.count * count);
      }
    }
  }

  // Stages and tiles share collectives: each is walked through once.
  const MemberSends& sends_of(const Collective& key) {
    const auto [place, is_new] = collectives_.try_emplace(key);
    if (!is_new) {
      return place->second;
    }
    const auto [group, number, bytes] = key;
    const auto kind = static_cast<collective::Kind>(number);
    const std::uint32_t size = plan_.group(group).size;
    const std::uint32_t steps = plan_.steps(group, kind);
    place->second.resize(size);
    for (collective::Member member = 0; member < size; ++member) {
      std::map<std::pair<collective::Member, Bytes>, std::uint64_t> counts;
      for (std::uint32_t at = 0; at < steps; ++at) {
        const collective::Step step = plan_.step(group, kind, member, Bytes(bytes), at);
        if (step.send_to != collective::nobody) {
          ++counts[{step.send_to, step.send_bytes}];
        }
      }
      for (const auto& [to, count] : counts) {
        place->second[member].push_back({to.first, to.second, count});
      }
    }
    return place->second;
  }

  const Experiment& experiment_;
  const plan::Plan& plan_;
  std::vector<std::uint64_t> events_;
  std::unique_ptr<network::PredictedTraffic> traffic_;
  std::map<Collective, MemberSends> collectives_;
};

}  // namespace

std::vector<std::uint64_t> predicted_events(const Experiment& experiment) {
  return Prediction(experiment).make();
}

}  // namespace tessera::sim
