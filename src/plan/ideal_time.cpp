// What a plan's schedule takes where arithmetic alone takes time.

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/clock.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::plan {
namespace {

using Types = std::vector<std::uint16_t>;  // [stages] in Machine::tiles()

// The types of the tiles that pass micro-batches on to each other, each tuple once. What lies in
// the same place of all stages does; a place with slow tiles need not wait for another one.
std::set<Types> columns_of(const machine::Machine& machine, const Plan& plan) {
  const std::size_t stages = plan.stages.size();
  if (machine.types.empty()) {
    return {Types(stages)};
  }
  std::set<Types> columns;
  Types types(stages);
  for (std::uint32_t place = 0; place < plan.stage_tiles(); ++place) {
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const auto role = static_cast<std::uint32_t>(stage) * plan.stage_tiles() + place;
      types[stage] = machine.type_of[plan.placement.tile(role).value()];
    }
    columns.insert(types);
  }
  return columns;
}

// [pieces] arithmetic of each piece of a program.
std::vector<SimTime> times_of(const Plan& plan, const Program& program, const machine::Tile& tile,
                              const OperationTime& operation_time) {
  std::vector<SimTime> times;
  for (const std::vector<Instruction>& piece : program.pieces) {
    SimTime& time = times.emplace_back();
    for (const Instruction& instruction : piece) {
      if (instruction.action == Action::execute) {
        time += operation_time(tile, plan.operations[instruction.operation]);
      }
    }
  }
  return times;
}

}  // namespace

SimTime ideal_time(const machine::Machine& machine, const Plan& plan,
                   const OperationTime& operation_time, std::uint64_t iterations) try {
  SimTime longest;
  for (const Types& types : columns_of(machine, plan)) {
    ScheduleClock::Times times;
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      times.pieces.push_back(times_of(plan, plan.stages[stage].program,
                                      machine.tiles()[types[stage]], operation_time));
    }
    longest = std::max(
        longest,
        ScheduleClock(plan, std::move(times)).iteration(static_cast<std::int64_t>(iterations)));
  }
  return longest;
} catch (const ModelError&) {
  return SimTime::never();  // beyond the range of times
}

}  // namespace tessera::plan
