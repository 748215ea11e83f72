#include "program/memory_tracker.hpp"

#include <algorithm>

namespace tessera::executor {

MemoryTracker::MemoryTracker(const plan::Plan& plan, const machine::Framework& framework)
    : plan_(plan), framework_(framework), roles_of_stage_(std::max(1U, plan.stage_tiles())) {
  for (const plan::Stage& stage : plan.stages) {
    walks_.emplace_back(stage.memory.state(plan.strategy.chunk_micro_batches()));
  }
}

plan::MemoryUse MemoryTracker::take(std::uint32_t stage, const plan::Pass& pass) {
  const plan::PhaseMemory& chunk = plan_.stages[stage].pass_memory[pass.chunk];
  return walks_[stage].take(pass, chunk[static_cast<std::size_t>(pass.phase)]);
}

// Of two passes in turns, one after the other.
void MemoryTracker::take(std::uint32_t stage, const plan::ScheduleEntry& entry) {
  take(stage, entry.pass);
  if (entry.beside) {
    take(stage, *entry.beside);
  }
}

plan::MemoryUse MemoryTracker::with_framework(std::uint32_t stage,
                                              const plan::MemoryUse& use) const {
  return plan::with_framework(framework_, plan_.stages[stage].communicators, use);
}

void MemoryTracker::end_pass(EntityId node, const TileState& tile, SimTime now,
                             Observer* observer) {
  if (!is_followed(tile)) {
    return;
  }
  const std::uint32_t stage = tile.role / roles_of_stage_;
  const plan::ScheduleEntry& entry = plan_.stages[stage].program.schedule[tile.entry];
  const auto note = [&](const plan::Pass& pass) {
    const plan::MemoryUse use = take(stage, pass);
    if (observer != nullptr) {
      observer->on_memory({node, pass, now, with_framework(stage, use)});
    }
  };
  note(entry.pass);
  if (entry.beside) {
    note(*entry.beside);
  }
}

void MemoryTracker::restore(const TileState& tile) {
  if (!is_followed(tile)) {
    return;
  }
  const std::uint32_t stage = tile.role / roles_of_stage_;
  const auto& schedule = plan_.stages[stage].program.schedule;
  walks_[stage] =
      plan::MemoryWalk(plan_.stages[stage].memory.state(plan_.strategy.chunk_micro_batches()));
  // Iterations are alike: the first one had the peak of all.
  for (std::size_t entry = 0; tile.iteration > 0 && entry < schedule.size(); ++entry) {
    take(stage, schedule[entry]);
  }
  for (std::size_t entry = 0; entry < tile.entry; ++entry) {
    take(stage, schedule[entry]);
  }
}

void MemoryTracker::visit(
    const std::function<void(std::uint32_t, const plan::MemoryWalk::Peak&)>& visit) const {
  for (std::uint32_t stage = 0; stage < walks_.size(); ++stage) {
    if (walks_[stage].has_begun()) {
      plan::MemoryWalk::Peak peak = walks_[stage].peak();
      peak.use = with_framework(stage, peak.use);
      visit(stage * roles_of_stage_, peak);
    }
  }
}

}  // namespace tessera::executor
