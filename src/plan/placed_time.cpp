#include "tessera/plan/placed_time.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collective_time.hpp"
#include "schedule/clock.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::plan {
namespace {

class PlacedTime {
 public:
  PlacedTime(const machine::Machine& machine, const Plan& plan, const OperationTime& operation_time,
             const Transfers& transfers, Sharing sharing)
      : machine_(machine),
        plan_(plan),
        operation_time_(operation_time),
        clock_(plan, transfers, *machine.topology, sharing) {}

  SimTime iteration() {
    ScheduleClock::Times times;
    times.updates = true;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      std::vector<SimTime>& pieces = times.pieces.emplace_back();
      for (const std::vector<Instruction>& piece : plan_.stages[stage].program.pieces) {
        pieces.push_back(time_of(piece, stage));
      }
      find_boundaries(stage);
    }
    times.boundary = [this](std::uint32_t from, std::uint32_t to) {
      const auto found = boundaries_.find({from, to});
      return found == boundaries_.end() ? SimTime::zero() : found->second;
    };
    return ScheduleClock(plan_, std::move(times)).end();
  }

 private:
  // What goes on in the background is hidden as far as it can be.
  SimTime time_of(const std::vector<Instruction>& piece, std::uint32_t stage) {
    SimTime foreground;
    SimTime background;
    SimTime copies;  // beside both
    for (const Instruction& instruction : piece) {
      if (instruction.action == Action::execute) {
        foreground += slowest(plan_.operations[instruction.operation], stage);
      } else if (instruction.group == Group::tied) {
        continue;
      } else if (instruction.action == Action::collective) {
        foreground += collective(instruction, stage);
      } else if (instruction.action == Action::start_collective) {
        background += collective(instruction, stage);
      } else if (instruction.action == Action::elapse) {  // before a collective
        foreground += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
      } else if (instruction.action == Action::start_elapse) {
        background += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
      } else if (instruction.action == Action::start_copy) {
        copies += SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
      }
    }
    return std::max({foreground, background, copies});
  }

  SimTime slowest(const workload::Operation& operation, std::uint32_t stage) const {
    SimTime time;
    for (const std::uint16_t type : plan_.stages[stage].tile_types) {
      time = std::max(time, operation_time_(machine_.tiles()[type], operation));
    }
    return time;
  }

  SimTime collective(const Instruction& instruction, std::uint32_t stage) {
    const auto [entry, fresh] = collectives_.try_emplace(
        std::tuple(stage, instruction.group, instruction.collective, instruction.bytes));
    if (fresh) {
      const GroupShape& shape = plan_.group(instruction.group);
      const Bytes bytes(instruction.bytes);
      entry->second =
          clock_.slowest(stage, instruction.group, shape, instruction.collective, bytes);
    }
    return entry->second;
  }

  void find_boundaries(std::uint32_t stage) {
    for (const auto& [key, count] : work_of(plan_.stages[stage].program).sends) {
      const auto& [side, traffic, group, bytes] = key;
      const std::uint32_t peer = plan_.peer_stage(stage, side);
      SimTime& time = boundaries_[{stage, peer}];
      time = std::max(time, clock_.boundary(stage, peer, plan_.group(group), Bytes(bytes)));
    }
  }

  const machine::Machine& machine_;
  const Plan& plan_;
  const OperationTime& operation_time_;
  CollectiveClock clock_;
  std::map<std::tuple<std::uint32_t, Group, collective::Kind, std::uint64_t>, SimTime> collectives_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SimTime> boundaries_;  // from stage to stage
};

}  // namespace

SimTime placed_time(const machine::Machine& machine, const Plan& plan,
                    const OperationTime& operation_time, const Transfers& transfers,
                    Sharing sharing) {
  return PlacedTime(machine, plan, operation_time, transfers, sharing).iteration();
}

}  // namespace tessera::plan
