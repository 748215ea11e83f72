// Where tiles are in their programs, and whom they exchange boundary tensors with from there.
#pragma once

#include <cstdint>

#include "program/tile_messages.hpp"
#include "program/tile_state.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

// Of tiles that play a role.
class ProgramPlaces {
 public:
  // The plan must outlive it.
  ProgramPlaces(const plan::Plan& plan, std::uint32_t iterations)
      : plan_(plan), iterations_(iterations) {}

  const plan::Program& program(const TileState& tile) const {
    return plan_.stages[plan_.placement.stage(tile.role)].program;
  }
  // Of the schedule, and the instruction in it; not of a tile that has finished.
  const plan::ScheduleEntry& entry(const TileState& tile) const {
    return program(tile).schedule[tile.entry];
  }
  const plan::Instruction& current(const TileState& tile) const {
    return program(tile).instructions(entry(tile))[tile.instruction];
  }
  bool is_last(const TileState& tile) const { return tile.iteration + 1 == iterations_; }
  bool finished(const TileState& tile) const { return tile.iteration == iterations_; }

  EntityId peer(const TileState& tile, plan::Peer peer) const {
    plan::Role role = plan_.placement.role(tile.role);
    role.stage = plan_.peer_stage(role.stage, peer);
    return plan_.placement.tile(role);
  }
  // Names the micro-batch and the chunk that receives.
  std::uint16_t boundary_tag(const TileState& tile, const plan::Instruction& instruction) const {
    const plan::Pass& pass = entry(tile).pass_of(instruction);
    const std::uint32_t stage = plan_.placement.stage(tile.role);
    const std::uint32_t chunk = instruction.action == plan::Action::send
                                    ? plan_.receiving_chunk(stage, pass.chunk, instruction.peer)
                                    : pass.chunk;
    return tag_of(instruction.traffic, false, pass.micro_batch * plan_.strategy.chunks + chunk);
  }

 private:
  const plan::Plan& plan_;
  std::uint32_t iterations_;
};

}  // namespace tessera::executor
