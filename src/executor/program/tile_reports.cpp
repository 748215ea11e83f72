#include "program/tile_reports.hpp"

#include <cstddef>
#include <vector>

#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::executor {

TileResult result_of(EntityId tile, const TileState& state, bool finished) {
  TileResult result;
  result.tile = tile;
  result.role = state.role;
  result.finished = finished;
  result.end = state.since;
  SimTime known;
  for (std::size_t i = 0; i < state.time_ps.size(); ++i) {
    result.time[i] = SimTime::from_ps(state.time_ps[i]);
    known += result.time[i];
  }
  result.time[static_cast<std::size_t>(Activity::bubble)] = state.since - known;
  return result;
}

std::string waiting_line(const plan::Plan& plan, const machine::Topology& topology, EntityId tile,
                         const TileState& state) {
  const plan::Role role = plan.placement.role(state.role);
  const plan::Program& program = plan.stages[role.stage].program;
  const plan::ScheduleEntry& entry = program.schedule[state.entry];
  const plan::Instruction& instruction = program.instructions(entry)[state.instruction];
  std::string text = topology.node_name(tile) + " (stage " + std::to_string(role.stage) +
                     ", replica " + std::to_string(role.replica) + ", shard " +
                     std::to_string(role.shard) + ") waits in '" + plan.names[instruction.name] +
                     "' of " + to_string(entry.pass_of(instruction).phase) + ", micro-batch " +
                     std::to_string(entry.pass_of(instruction).micro_batch) + ", since " +
                     to_string(state.since);
  if (state.transfer.awaited.valid()) {
    text += ", for a message from " + topology.node_name(state.transfer.awaited);
  }
  return text;
}

std::uint64_t flops_of_programs(const plan::Plan& plan, std::span<const TileState> tiles) {
  std::vector<std::uint64_t> of_stage;
  for (const plan::Stage& stage : plan.stages) {
    of_stage.push_back(plan::flops_of(plan, stage.program));
  }
  std::uint64_t sum = 0;
  for (const TileState& tile : tiles) {
    if (tile.role != plan::Placement::unused) {
      sum += of_stage[plan.placement.stage(tile.role)];
    }
  }
  return sum;
}

}  // namespace tessera::executor
