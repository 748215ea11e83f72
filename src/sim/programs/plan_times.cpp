#include "programs/plan_times.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "tessera/compute/compute.hpp"
#include "tessera/network/network.hpp"
#include "tessera/plan/placement/route_costs.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::sim {
namespace {

using plan::Action;
using plan::Instruction;

// Of messages and accesses on the idle machine.
class IdleTimes {
 public:
  explicit IdleTimes(const Experiment& experiment)
      : experiment_(experiment),
        routing_(
            plan::RouteCosts::affordable(*experiment.machine.topology)
                ? machine::make_routing(experiment.network->routing(), *experiment.machine.topology)
                : nullptr) {}

  SimTime message(EntityId from, EntityId to, Bytes bytes) {
    if (from == to) {
      return SimTime::zero();
    }
    return experiment_.network->idle_time(path(from, to), bytes);
  }

  SimTime access(EntityId tile, Bytes bytes, std::uint32_t sharing) {
    const machine::Machine& machine = experiment_.machine;
    if (machine.channels.empty()) {
      return SimTime::zero();
    }
    const machine::MemoryChannel& channel = machine.channels[machine.channel_of[tile.value()]];
    return channel.latency + serialization_time(bytes * sharing, channel.bandwidth) +
           message(channel.node, tile, Bytes(0)) * 2;
  }

 private:
  // Where routes are too many to be found, one hop over a link of the first class.
  const machine::Path& path(EntityId from, EntityId to) {
    const auto [place, is_new] = paths_.try_emplace({from.value(), to.value()});
    if (is_new) {
      const machine::Topology& topology = *experiment_.machine.topology;
      const machine::LinkClass& link = topology.link_classes().front();
      place->second = routing_ ? machine::path_between(topology, *routing_, from, to)
                               : machine::Path{1, link.latency, link.bandwidth, link.latency};
    }
    return place->second;
  }

  const Experiment& experiment_;
  std::unique_ptr<machine::Routing> routing_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, machine::Path> paths_;
};

// Follows the program of one stage until it waits for another.
class StageClock {
 public:
  using Tag = std::tuple<std::uint32_t, plan::Traffic, std::uint64_t>;  // stage that receives, …
  using Arrivals = std::map<Tag, std::deque<SimTime>>;

  StageClock(const Experiment& experiment, const PlanTraffic& traffic, std::uint32_t stage,
             IdleTimes& idle, plan::CollectiveSends& sends, PlanTimes& times)
      : experiment_(experiment),
        traffic_(traffic),
        plan_(traffic.plan()),
        stage_(stage),
        tile_(plan_.placement.tile(plan::Role{stage, 0, 0})),
        idle_(idle),
        times_(times),
        sends_(sends) {
    measure();
  }

  bool done() const { return entry_ == program().schedule.size(); }

  // Goes on as far as possible; `forced`: a receive ends at once. Whether it came any further.
  bool go_on(Arrivals& arrivals, bool forced) {
    bool moved = false;
    while (!done()) {
      const plan::ScheduleEntry& entry = program().schedule[entry_];
      const std::vector<Instruction>& code = program().instructions(entry);
      for (; place_ < code.size(); ++place_) {
        if (!step(code[place_], entry, arrivals, forced)) {
          return moved;
        }
        moved = true;
        forced = false;
      }
      times_.runs.push_back({traffic_.job(stage_, entry.piece), begin_.ps(), now_.ps()});
      times_.end = std::max(times_.end, now_.ps());
      place_ = 0;
      ++entry_;
      begin_ = now_;
      moved = true;
    }
    return moved;
  }

 private:
  const plan::Program& program() const { return plan_.stages[stage_].program; }

  // Durations of all instructions, and of the steps of exchanges.
  void measure() {
    const std::uint32_t sharing = tiles_on_channel();
    for (std::uint32_t piece = 0; piece < program().pieces.size(); ++piece) {
      std::vector<SimTime>& own = duration_.emplace_back();
      const std::uint32_t job = traffic_.job(stage_, piece);
      for (const Instruction& instruction : program().pieces[piece]) {
        own.push_back(time_of(instruction, sharing, job));
      }
    }
  }

  std::uint32_t tiles_on_channel() const {
    const machine::Machine& machine = experiment_.machine;
    if (machine.channels.empty()) {
      return 1;
    }
    const std::uint32_t own = machine.channel_of[tile_.value()];
    std::uint32_t tiles = 0;
    const std::uint32_t first = stage_ * plan_.stage_tiles();
    for (std::uint32_t role = first; role < first + plan_.stage_tiles(); ++role) {
      tiles += machine.channel_of[plan_.placement.tile(role).value()] == own ? 1 : 0;
    }
    return tiles;
  }

  SimTime time_of(const Instruction& instruction, std::uint32_t sharing, std::uint32_t job) {
    switch (instruction.action) {
      case Action::execute: {
        const machine::Machine& machine = experiment_.machine;
        return machine.time_at(
            tile_, experiment_.compute->duration(machine, machine.tile_of(tile_),
                                                 plan_.operations[instruction.operation]));
      }
      case Action::elapse:
      case Action::start_elapse:
      case Action::start_copy:
        return SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
      case Action::collective:
      case Action::start_collective:
        return time_of_collective(instruction, job);
      case Action::read:
      case Action::write: {
        const SimTime time = idle_.access(tile_, Bytes(instruction.bytes), sharing);
        note_step(job, Talk::memory, SimTime::zero());  // the request comes at once
        return time;
      }
      case Action::send:
        return idle_.message(tile_, peer_tile(instruction.peer), Bytes(instruction.bytes));
      default:
        return SimTime::zero();
    }
  }

  EntityId peer_tile(plan::Peer peer) const {
    return plan_.placement.tile(plan::Role{plan_.peer_stage(stage_, peer), 0, 0});
  }

  SimTime time_of_collective(const Instruction& instruction, std::uint32_t job) {
    const std::uint32_t role = plan_.placement.number({stage_, 0, 0});
    const plan::CollectiveKey key{instruction.group, instruction.collective, instruction.bytes};
    SimTime sum;  // what goes before is an instruction of its own
    std::uint64_t messages = 0;
    for (const plan::Sent& sent : sends_.of(key)[plan_.member_of(instruction.group, role)]) {
      const EntityId peer = plan_.placement.tile(plan_.role_of(instruction.group, sent.to, role));
      sum += idle_.message(tile_, peer, sent.bytes) * static_cast<std::int64_t>(sent.count);
      messages += sent.count;
    }
    if (messages > 0) {
      const bool over_stages = instruction.group == plan::Group::tied;
      const bool over_replicas = plan::traffic_of(instruction.group) != plan::Traffic::tensor;
      note_step(job,
                over_stages     ? Talk::tied
                : over_replicas ? Talk::replicas
                                : Talk::tensor,
                SimTime::from_ps(sum.ps() / static_cast<std::int64_t>(messages)));
    }
    return sum;
  }

  // The shortest of all alike.
  void note_step(std::uint32_t job, Talk talk, SimTime time) {
    std::int64_t& step = times_.step[PlanTraffic::exchange(job, talk)];
    const std::int64_t own = std::max(times_.hop, time.ps());
    step = step == 0 ? own : std::min(step, own);
  }

  // False: it waits for what has not been sent.
  bool step(const Instruction& instruction, const plan::ScheduleEntry& entry, Arrivals& arrivals,
            bool forced) {
    const SimTime time = duration_[entry.piece][place_];
    switch (instruction.action) {
      case Action::execute:
      case Action::elapse:
      case Action::collective:
        now_ += time;
        break;
      case Action::start_collective:
      case Action::start_elapse:
        background_ = std::max(background_, now_) + time;
        break;
      case Action::wait_collectives:
        now_ = std::max(now_, background_);
        break;
      case Action::read:
      case Action::write:
        accessed_ = std::max(accessed_, now_) + time;
        break;
      case Action::wait_access:
        now_ = std::max(now_, accessed_);
        break;
      case Action::start_copy:
        copy(instruction, entry.pass_of(instruction), time);
        break;
      case Action::wait_copies:
        now_ = std::max(now_, copied(instruction.bytes));
        break;
      case Action::send:
        send(instruction, entry, time, arrivals);
        break;
      case Action::receive:
        return receive(instruction, entry, arrivals) || forced;
    }
    return true;
  }

  // As executor::HostLinks: each way by itself, and what comes in has gone out.
  void copy(const Instruction& instruction, const plan::Pass& pass, SimTime time) {
    const bool comes_in = plan::copies_in(instruction.slot);
    SimTime& way = copied_[comes_in ? 1 : 0];
    const std::pair origin(pass.micro_batch, pass.chunk);
    const bool waits = comes_in && origin == copied_out_;
    copied_out_ = comes_in ? copied_out_ : origin;
    way = std::max({way, now_, waits ? copied_[0] : SimTime::zero()}) + time;
  }
  // When the copies of the slots in a mask are over.
  SimTime copied(std::uint64_t mask) const {
    const bool waits_in = mask >> (plan::copy_slots / 2) != 0;
    return copied_[waits_in ? 1 : 0];
  }

  // As the executor names them: by the micro-batch and the chunk that receives.
  std::uint64_t number(const plan::Pass& pass, std::uint32_t chunk) const {
    return std::uint64_t{pass.micro_batch} * plan_.strategy.chunks + chunk;
  }

  void send(const Instruction& instruction, const plan::ScheduleEntry& entry, SimTime time,
            Arrivals& arrivals) {
    const bool onward = instruction.peer == plan::Peer::next_stage;
    const std::uint32_t chunk =
        plan_.receiving_chunk(stage_, entry.pass_of(instruction).chunk, instruction.peer);
    const SimTime arrives = now_ + time;
    arrivals[{plan_.peer_stage(stage_, instruction.peer), instruction.traffic,
              number(entry.pass_of(instruction), chunk)}]
        .push_back(arrives);
    times_.handings.push_back({traffic_.job(stage_, entry.piece),
                               onward ? Talk::next : Talk::previous, now_.ps(),
                               std::max(arrives.ps(), now_.ps() + times_.hop)});
  }

  bool receive(const Instruction& instruction, const plan::ScheduleEntry& entry,
               Arrivals& arrivals) {
    const plan::Pass& pass = entry.pass_of(instruction);
    const auto found = arrivals.find({stage_, instruction.traffic, number(pass, pass.chunk)});
    if (found == arrivals.end()) {
      return false;
    }
    const bool at_begin = begin_ == now_;
    now_ = std::max(now_, found->second.front());
    if (at_begin) {
      begin_ = now_;
    }
    found->second.pop_front();
    if (found->second.empty()) {
      arrivals.erase(found);
    }
    return true;
  }

  const Experiment& experiment_;
  const PlanTraffic& traffic_;
  const plan::Plan& plan_;
  std::uint32_t stage_;
  EntityId tile_;
  IdleTimes& idle_;
  PlanTimes& times_;
  plan::CollectiveSends& sends_;
  std::vector<std::vector<SimTime>> duration_;  // [pieces][instructions]
  std::size_t entry_ = 0;
  std::size_t place_ = 0;
  SimTime begin_;
  SimTime now_;
  SimTime background_;
  SimTime accessed_;
  std::array<SimTime, 2> copied_{};                       // out, in
  std::pair<std::uint32_t, std::uint16_t> copied_out_{};  // micro-batch and chunk
};

}  // namespace

PlanTimes plan_times(const Experiment& experiment, const PlanTraffic& traffic) {
  PlanTimes times;
  const SimTime latency = experiment.machine.topology->smallest_latency();
  times.hop = latency.is_never() ? 1 : std::max<std::int64_t>(1, latency.ps());
  times.step.resize(traffic.exchanges());
  IdleTimes idle(experiment);
  plan::CollectiveSends sends(traffic.plan());
  std::vector<StageClock> clocks;
  for (std::uint32_t stage = 0; stage < traffic.stages(); ++stage) {
    clocks.emplace_back(experiment, traffic, stage, idle, sends, times);
  }
  StageClock::Arrivals arrivals;
  bool forced = false;  // where a plan of ours would wait for ever, the order is no matter
  for (bool all_done = false; !all_done;) {
    bool moved = false;
    all_done = true;
    for (StageClock& clock : clocks) {
      moved = clock.go_on(arrivals, forced && !moved) || moved;
      all_done = all_done && clock.done();
    }
    forced = !moved;
  }
  return times;
}

}  // namespace tessera::sim
