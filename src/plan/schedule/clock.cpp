#include "schedule/clock.hpp"

#include <algorithm>
#include <utility>

namespace tessera::plan {
namespace {

SimTime average(SimTime sum, std::int64_t count) {
  return SimTime::from_ps(sum.ps() / count);
}

}  // namespace

ScheduleClock::ScheduleClock(const Plan& plan, Times times)
    : plan_(plan),
      times_(std::move(times)),
      stages_(static_cast<std::uint32_t>(plan.stages.size())),
      shape_(plan.strategy.pipeline_shape(plan.training)),
      parts_(shape_.parts()),
      next_(stages_),
      clock_(stages_),
      busy_(stages_),
      begin_(stages_) {
  for (auto& done : done_) {
    done.resize(std::size_t{parts_} * plan.strategy.micro_batches);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
      while (advance(stage)) {
        moved = true;
      }
    }
  }
}

SimTime ScheduleClock::end() const {
  return *std::max_element(clock_.begin(), clock_.end());
}

SimTime ScheduleClock::iteration(std::int64_t iterations) const {
  SimTime longest = clock_[0] + average(end() - clock_[0], iterations);
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    longest = std::max(longest, busy_[stage] + average(begin_[stage], iterations));
  }
  return longest;
}

// Runs the stage's next pass; false when there is none, or what it needs is not there.
bool ScheduleClock::advance(std::uint32_t stage) {
  const Program& program = plan_.stages[stage].program;
  if (next_[stage] == program.schedule.size()) {
    return false;
  }
  const ScheduleEntry& entry = program.schedule[next_[stage]];
  const bool is_update = entry.pass.phase == Phase::update;
  if (is_update && !times_.updates) {
    ++next_[stage];
    return true;
  }
  const std::uint32_t part = shape_.part_of(stage, entry.pass.chunk);
  const std::optional<SimTime> ready = ready_at(entry.pass, part);
  const std::optional<SimTime> other =
      entry.beside ? ready_at(*entry.beside, shape_.part_of(stage, entry.beside->chunk))
                   : SimTime::zero();
  if (!ready || !other) {
    return false;
  }
  const SimTime time = times_.pieces[stage][entry.piece];
  const SimTime begin = std::max({clock_[stage], *ready, *other});
  begin_[stage] = next_[stage] == 0 ? begin : begin_[stage];
  clock_[stage] = begin + time;
  busy_[stage] += time;
  ++next_[stage];
  if (!is_update) {
    note_done(stage, entry.pass);
  }
  if (entry.beside) {
    note_done(stage, *entry.beside);
  }
  return true;
}

void ScheduleClock::note_done(std::uint32_t stage, const Pass& pass) {
  if (pass.phase != Phase::weight_gradient) {
    const std::uint32_t part = shape_.part_of(stage, pass.chunk);
    done_[pass.phase == Phase::forward ? 0 : 1][place(part, pass)] = clock_[stage];
  }
}

// When what another stage makes for the pass is there; that of its own stage is, by the order.
std::optional<SimTime> ScheduleClock::ready_at(const Pass& pass, std::uint32_t part) const {
  switch (pass.phase) {
    case Phase::forward:
      return shape_.begins(part) ? SimTime::zero() : sent_at(0, part - 1, part, pass);
    case Phase::backward:
    case Phase::input_gradient:
      return shape_.ends(part) ? SimTime::zero() : sent_at(1, part + 1, part, pass);
    default:
      return SimTime::zero();
  }
}

std::optional<SimTime> ScheduleClock::sent_at(std::size_t direction, std::uint32_t from,
                                              std::uint32_t to, const Pass& pass) const {
  const std::optional<SimTime>& done = done_[direction][place(from, pass)];
  const std::uint32_t sender = shape_.stage_of(from);
  const std::uint32_t receiver = shape_.stage_of(to);
  if (!done || !times_.boundary || sender == receiver) {
    return done;
  }
  return *done + times_.boundary(sender, receiver);
}

}  // namespace tessera::plan
