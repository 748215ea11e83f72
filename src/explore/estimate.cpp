#include "tessera/explore/estimate.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/plan/stages/stage_work.hpp"

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
        plan_(experiment.plan()),
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
    std::vector<SimTime> times;
    std::vector<Bytes> accessed;
    for (const std::vector<Instruction>& piece : program.pieces) {
      accessed.push_back(bytes_accessed(piece));
      times.push_back(std::max(time_of(piece, stage), access_time(accessed.back(), sharers)));
    }
    SimTime busy;
    SimTime update;
    Bytes of_a_tile;
    for (const plan::ScheduleEntry& entry : program.schedule) {
      busy += times[entry.piece];
      update += entry.pass.phase == plan::Phase::update ? times[entry.piece] : SimTime::zero();
      of_a_tile += accessed[entry.piece];
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
          foreground += slowest(plan_.operations[instruction.operation], stage);
          break;
        case Action::elapse:
          foreground += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
          break;
        case Action::start_elapse:
          background += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
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

  // On the types of tiles that a stage has.
  SimTime slowest(const workload::Operation& operation, std::uint32_t stage) const {
    SimTime time;
    for (const std::uint16_t type : plan_.stages[stage].tile_types) {
      time = std::max(time,
                      experiment_.compute->duration(machine_, machine_.tiles()[type], operation));
    }
    return time;
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
      const auto kind = instruction.collective;
      // Channels go on side by side.
      const std::uint32_t channels = plan_.group(instruction.group).channels;
      for (std::uint32_t step = 0; step < plan_.steps(instruction.group, kind); step += channels) {
        const collective::Step first =
            plan_.step(instruction.group, kind, 0, Bytes(instruction.bytes), step);
        entry->second += route.time(std::max(first.send_bytes, first.receive_bytes));
      }
    }
    return entry->second;
  }

  const Route& neighbours(plan::Group group, std::uint32_t stage) {
    const auto [entry, fresh] = routes_.try_emplace({stage, group});
    if (fresh) {
      const plan::GroupShape& shape = plan_.group(group);
      const std::uint32_t size = shape.together();
      const auto at = [&](std::uint32_t number) {
        return member_of(group, stage, shape.among_leaders ? shape.leader(number) : number);
      };
      const std::uint32_t looked_at = size > 1 ? std::min(size, most_neighbours) : 0;
      for (std::uint32_t i = 0; i < looked_at; ++i) {
        const auto member = static_cast<std::uint32_t>(std::uint64_t{i} * size / looked_at);
        entry->second.add(path(at(member), at((member + 1) % size)));
      }
    }
    return entry->second;
  }

  EntityId member_of(plan::Group group, std::uint32_t stage, std::uint32_t member) const {
    return plan_.placement.tile(
        plan_.role_of(group, member, stage * plan_.placement.stage_tiles()));
  }

  machine::Path path(EntityId from, EntityId to) const {
    return machine::path_between(*machine_.topology, routing_, from, to);
  }

  // What the stage sends to the stages next door for one micro-batch.
  SimTime crossings_of(std::uint32_t stage) const {
    SimTime time;
    const plan::StageWork work = plan::work_of(plan_.stages[stage].program);
    for (const auto& [key, count] : work.sends) {
      const auto& [side, traffic, group, bytes] = key;
      const std::uint32_t peer = plan_.peer_stage(stage, side);
      Route route;
      route.add(path(plan_.placement.tile({stage, 0, 0}), plan_.placement.tile({peer, 0, 0})));
      time += route.time(Bytes(bytes)) * static_cast<std::int64_t>(count);
    }
    return SimTime::from_ps(time.ps() / std::int64_t{plan_.strategy.micro_batches});
  }

  const sim::Experiment& experiment_;
  const plan::Plan& plan_;
  const machine::Machine& machine_;
  const machine::Routing& routing_;
  std::vector<Bytes> channel_bytes_;  // [channels] accessed in an iteration
  std::map<std::tuple<std::uint32_t, plan::Group, collective::Kind, std::uint64_t>, SimTime>
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
