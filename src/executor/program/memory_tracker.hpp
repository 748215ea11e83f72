// What the first tile of each stage holds, as it goes from pass to pass.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "program/tile_state.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

// All tiles of a stage run one program and hold the same; one of them is followed.
class MemoryTracker {
 public:
  // Both must outlive it.
  MemoryTracker(const plan::Plan& plan, const machine::Framework& framework);

  // A pass of the tile's program is over.
  void end_pass(EntityId node, const TileState& tile, SimTime now, Observer* observer);
  // Goes to where a tile of a checkpoint is.
  void restore(const TileState& tile);
  // Of the stages whose first tile has been at work here: its role, and when it held most.
  void visit(const std::function<void(std::uint32_t, const plan::MemoryWalk::Peak&)>& visit) const;
  std::size_t resident_bytes() const { return walks_.capacity() * sizeof(plan::MemoryWalk); }

 private:
  // Programs that were written by hand say nothing of memory.
  bool is_followed(const TileState& tile) const {
    return tile.role % roles_of_stage_ == 0 &&
           !plan_.stages[tile.role / roles_of_stage_].pass_memory.chunks.empty();
  }
  plan::MemoryUse take(std::uint32_t stage, const plan::ScheduleEntry& entry);
  plan::MemoryUse with_framework(std::uint32_t stage, const plan::MemoryUse& use) const;

  const plan::Plan& plan_;
  const machine::Framework& framework_;
  std::uint32_t roles_of_stage_;
  std::vector<plan::MemoryWalk> walks_;  // [stages]
};

}  // namespace tessera::executor
