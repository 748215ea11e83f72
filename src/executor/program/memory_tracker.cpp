#include "program/memory_tracker.hpp"

#include <algorithm>

namespace tessera::executor {

MemoryTracker::MemoryTracker(const plan::Plan& plan, const machine::Framework& framework)
    : plan_(plan), framework_(framework), roles_of_stage_(std::max(1U, plan.stage_tiles())) {
  for (const plan::Stage& stage : plan.stages) {
    walks_.emplace_back(stage.memory.state(plan.strategy.chunk_micro_batches()));
  }
}

plan::MemoryUse MemoryTracker::take(std::uint32_t stage, const plan::ScheduleEntry& entry) {
  const plan::TurnMemory& passes = plan_.stages[stage].pass_memory;
  return walks_[stage].take(entry.pass, passes.of({entry.pass, entry.beside}));
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
  const plan::MemoryUse use = take(stage, entry);
  if (observer == nullptr) {
    return;
  }
  observer->on_memory({node, entry.pass, now, with_framework(stage, use)});
  if (entry.beside) {  // in both the same
    observer->on_memory({node, *entry.beside, now, with_framework(stage, use)});
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
