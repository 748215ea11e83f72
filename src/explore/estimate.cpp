#include "tessera/explore/estimate.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::explore {
namespace {

using plan::Action;
using plan::Instruction;

constexpr std::uint32_t most_neighbours = 16;  // of a group that are looked at

// The worst of several routes.
struct Route {
  SimTime latency;
  Bandwidth bandwidth;
  bool any = false;

  void add(const machine::Path& path) {
    latency = std::max(latency, path.latency);
    bandwidth = any ? std::min(bandwidth, path.bottleneck) : path.bottleneck;
    any = true;
  }
  SimTime time(Bytes bytes) const {
    return any ? latency + serialization_time(bytes, bandwidth) : SimTime::zero();
  }
};

// Tiles by the channel that serves them.
using Sharers = std::map<std::uint32_t, std::uint64_t>;

class OneEstimate {
 public:
  OneEstimate(const sim::Experiment& experiment, const machine::Machine& machine,
              const machine::Routing& routing)
      : experiment_(experiment),
        plan_(experiment.plan),
        machine_(machine),
        routing_(routing),
        channel_bytes_(machine.channels.size()) {}

  SimTime iteration() {
    const auto stages = static_cast<std::uint32_t>(plan_.stages.size());
    SimTime busiest;
    SimTime pass_of_busiest;
    SimTime passes;
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const auto [busy, pass] = times_of(stage);
      passes += pass;
      if (busy > busiest) {
        busiest = busy;
        pass_of_busiest = pass;
      }
      passes += crossings_of(stage);
    }
    return std::max(busiest + passes - pass_of_busiest, busiest_channel());
  }

 private:
  // Of one stage: all it does in an iteration, and its part of one micro-batch.
  std::pair<SimTime, SimTime> times_of(std::uint32_t stage) {
    const plan::Program& program = plan_.stages[stage].program;
    const Sharers sharers = sharers_of(stage);
    std::array<SimTime, plan::phases> times{};
    std::array<Bytes, plan::phases> accessed{};
    for (std::size_t phase = 0; phase < plan::phases; ++phase) {
      accessed[phase] = bytes_accessed(program.code[phase]);
      times[phase] =
          std::max(time_of(program.code[phase], stage), access_time(accessed[phase], sharers));
    }
    SimTime busy;
    SimTime update;
    Bytes of_a_tile;
    for (const plan::ScheduleEntry& entry : program.schedule) {
      const auto phase = static_cast<std::size_t>(entry.phase);
      busy += times[phase];
      update += entry.phase == plan::Phase::update ? times[phase] : SimTime::zero();
      of_a_tile += accessed[phase];
    }
    for (const auto& [channel, tiles] : sharers) {
      channel_bytes_[channel] += of_a_tile * tiles;
    }
    const std::int64_t micro_batches = plan_.strategy.micro_batches;
    return {busy,
            SimTime::from_ps((busy - update).ps() / std::max<std::int64_t>(1, micro_batches))};
  }

  static Bytes bytes_accessed(const std::vector<Instruction>& code) {
    Bytes bytes;
    for (const Instruction& instruction : code) {
      const bool access = instruction.action == Action::read || instruction.action == Action::write;
      bytes += access ? Bytes(instruction.bytes) : Bytes(0);
    }
    return bytes;
  }

  SimTime time_of(const std::vector<Instruction>& code, std::uint32_t stage) {
    SimTime foreground;
    SimTime background;
    for (const Instruction& instruction : code) {
      switch (instruction.action) {
        case Action::execute:
          foreground += experiment_.compute->duration(machine_, Flops(instruction.flops),
                                                      Bytes(instruction.bytes), plan_.data_type);
          break;
        case Action::collective:
          foreground += collective_time(instruction, stage);
          break;
        case Action::start_collective:
          background += collective_time(instruction, stage);
          break;
        default:
          break;  // waiting, and what boundaries and accesses cost, is counted elsewhere
      }
    }
    return std::max(foreground, background);
  }

  // Tiles of a stage at each channel that serves some.
  Sharers sharers_of(std::uint32_t stage) const {
    Sharers sharers;
    const std::uint32_t tiles = plan_.strategy.degrees.data * plan_.strategy.degrees.tensor;
    for (std::uint32_t role = stage * tiles;
         role < (stage + 1) * tiles && !machine_.channels.empty(); ++role) {
      ++sharers[machine_.channel_of[plan_.placement.tile(plan_.placement.role(role)).value()]];
    }
    return sharers;
  }

  SimTime access_time(Bytes bytes, const Sharers& sharers) const {
    SimTime longest;
    for (const auto& [channel, tiles] : sharers) {
      longest = std::max(longest,
                         serialization_time(bytes * tiles, machine_.channels[channel].bandwidth));
    }
    return longest;
  }

  SimTime busiest_channel() const {
    SimTime longest;
    for (std::size_t channel = 0; channel < channel_bytes_.size(); ++channel) {
      longest = std::max(longest, serialization_time(channel_bytes_[channel],
                                                     machine_.channels[channel].bandwidth));
    }
    return longest;
  }

  // Stages repeat the same collectives; each is walked through once.
  SimTime collective_time(const Instruction& instruction, std::uint32_t stage) {
    const auto [entry, fresh] = collectives_.try_emplace(
        std::tuple(stage, instruction.group, instruction.collective, instruction.bytes));
    if (fresh) {
      const Route route = neighbours(instruction.group, stage);
      const auto kind = static_cast<collective::Kind>(instruction.collective);
      const collective::Algorithm& algorithm = plan_.algorithm(instruction.group);
      const std::uint32_t size = plan_.group_size(instruction.group);
      for (std::uint32_t step = 0; step < algorithm.steps(kind, size); ++step) {
        entry->second +=
            route.time(algorithm.step(kind, size, 0, Bytes(instruction.bytes), step).receive_bytes);
      }
    }
    return entry->second;
  }

  const Route& neighbours(plan::Group group, std::uint32_t stage) {
    const auto [entry, fresh] = routes_.try_emplace({stage, group});
    if (fresh) {
      const std::uint32_t size = plan_.group_size(group);
      const std::uint32_t looked_at = size > 1 ? std::min(size, most_neighbours) : 0;
      for (std::uint32_t i = 0; i < looked_at; ++i) {
        const auto member = static_cast<std::uint32_t>(std::uint64_t{i} * size / looked_at);
        entry->second.add(
            path(member_of(group, stage, member), member_of(group, stage, (member + 1) % size)));
      }
    }
    return entry->second;
  }

  EntityId member_of(plan::Group group, std::uint32_t stage, std::uint32_t member) const {
    plan::Role role{stage, 0, 0};
    (group == plan::Group::tensor ? role.shard : role.replica) = member;
    return plan_.placement.tile(role);
  }

  machine::Path path(EntityId from, EntityId to) const {
    return machine::path_between(*machine_.topology, routing_, from, to);
  }

  // What the stage sends to the stages next door for one micro-batch.
  SimTime crossings_of(std::uint32_t stage) const {
    SimTime time;
    const plan::Program& program = plan_.stages[stage].program;
    for (const plan::Phase phase : {plan::Phase::forward, plan::Phase::backward}) {
      for (const Instruction& instruction : program.instructions(phase)) {
        if (instruction.action == Action::send) {
          const std::uint32_t peer =
              instruction.peer == plan::Peer::next_stage ? stage + 1 : stage - 1;
          Route route;
          route.add(path(plan_.placement.tile({stage, 0, 0}), plan_.placement.tile({peer, 0, 0})));
          time += route.time(Bytes(instruction.bytes));
        }
      }
    }
    return time;
  }

  const sim::Experiment& experiment_;
  const plan::Plan& plan_;
  const machine::Machine& machine_;
  const machine::Routing& routing_;
  std::vector<Bytes> channel_bytes_;  // [channels] accessed in an iteration
  std::map<std::tuple<std::uint32_t, plan::Group, std::uint8_t, std::uint64_t>, SimTime>
      collectives_;
  std::map<std::pair<std::uint32_t, plan::Group>, Route> routes_;
};

}  // namespace

Estimator::Estimator(const machine::Machine& machine)
    : machine_(machine),
      routing_(machine::make_routing(machine.topology->default_routing(), *machine.topology)) {}

SimTime Estimator::iteration(const sim::Experiment& experiment) const {
  return OneEstimate(experiment, machine_, *routing_).iteration();
}

}  // namespace tessera::explore
