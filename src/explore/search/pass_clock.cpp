#include "search/pass_clock.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::explore {
namespace {

using plan::Pass;
using plan::Phase;
using plan::PipelineShape;
using plan::Turn;

bool goes_back(Phase phase) {
  return phase == Phase::backward || phase == Phase::input_gradient;
}

}  // namespace

// Puts the passes of all stages into an order.
class PassClock::Steps {
 public:
  explicit Steps(const ClockedSchedule& schedule) : shape_(schedule.shape), next_(shape_.stages) {
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      turns_.push_back(plan::turns_of(plan::schedules().at(schedule.name).passes(shape_, stage),
                                      shape_, stage, schedule.pairs));
    }
    places_.fill(
        std::vector<std::uint32_t>(std::size_t{shape_.parts()} * shape_.micro_batches, nothing));
  }

  std::vector<Step> list() {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
        for (; next_[stage] < turns_[stage].size() && add(stage, turns_[stage][next_[stage]]);
             ++next_[stage]) {
          any = true;
        }
      }
    }
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      ensure(next_[stage] == turns_[stage].size(), "a schedule whose passes can be run");
    }
    return std::move(steps_);
  }

 private:
  // False where what it waits for is not there yet.
  bool add(std::uint32_t stage, const Turn& turn) {
    const std::optional<Wait> wait = wait_of(stage, turn.pass);
    const std::optional<Wait> other = turn.beside ? wait_of(stage, *turn.beside) : Wait{};
    if (!wait || !other) {
      return false;
    }
    note(stage, turn.pass);
    if (turn.beside) {
      note(stage, *turn.beside);
    }
    steps_.push_back(
        {stage, turn.pass.phase, turn.pass.chunk, *wait, turn.beside ? other : std::nullopt});
    return true;
  }

  std::optional<Wait> wait_of(std::uint32_t stage, const Pass& pass) const {
    const std::uint32_t part = shape_.part_of(stage, pass.chunk);
    const bool back = goes_back(pass.phase);
    const bool waits = back ? part + 1 < shape_.parts() : pass.phase == Phase::forward && part > 0;
    if (!waits) {
      return Wait{};
    }
    const std::uint32_t from = back ? part + 1 : part - 1;
    const std::uint32_t before = places_[back ? 1 : 0][place(from, pass)];
    if (before == nothing) {
      return std::nullopt;
    }
    const std::uint32_t other = shape_.stage_of(from);
    return Wait{before, other == stage ? nothing : std::min(stage, other)};
  }

  void note(std::uint32_t stage, const Pass& pass) {
    const bool back = goes_back(pass.phase);
    if (back || pass.phase == Phase::forward) {
      places_[back ? 1 : 0][place(shape_.part_of(stage, pass.chunk), pass)] =
          static_cast<std::uint32_t>(steps_.size());
    }
  }

  std::size_t place(std::uint32_t part, const Pass& pass) const {
    return part * std::size_t{shape_.micro_batches} + pass.micro_batch;
  }

  PipelineShape shape_;
  std::vector<std::vector<Turn>> turns_;  // [stages]
  std::vector<std::size_t> next_;         // [stages]
  // Where the step of each part and micro-batch is, forward and back.
  std::array<std::vector<std::uint32_t>, 2> places_;
  std::vector<Step> steps_;
};

std::vector<StageHours> PassClock::hours(const ClockedSchedule& schedule,
                                         const std::vector<PassTimes>& times,
                                         const std::vector<double>& crossings) {
  const PipelineShape& shape = schedule.shape;
  ClockedSchedule filled = schedule;
  filled.shape.micro_batches = std::min(shape.micro_batches, 2 * shape.stages + 2);
  const auto [entry, fresh] =
      known_.try_emplace({schedule.name, shape.stages, filled.shape.micro_batches, schedule.pairs});
  if (fresh) {
    entry->second = Steps(filled).list();
  }
  const std::vector<Step>& steps = entry->second;
  done_.resize(steps.size());
  std::vector<StageHours> hours(shape.stages, StageHours{-1, 0});
  std::vector<double> busy(shape.stages);
  const auto there = [&](const Wait& wait) {
    return wait.before == nothing
               ? 0
               : done_[wait.before] + (wait.crossing == nothing ? 0 : crossings[wait.crossing]);
  };
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const Step& step = steps[number];
    StageHours& stage = hours[step.stage];
    const double start =
        std::max({stage.end, there(step.wait), step.other ? there(*step.other) : 0});
    const double time = step.time(times[step.stage]);
    stage.begin = stage.begin < 0 ? start : stage.begin;
    stage.end = start + time;
    busy[step.stage] += time;
    done_[number] = stage.end;
  }
  const auto of_one_more = [&](std::size_t stage) {
    return schedule.pairs ? times[stage].pairs[0] + times[stage].pairs[1]
                          : busy[stage] / filled.shape.micro_batches;
  };
  double longest = 0;
  for (std::size_t stage = 0; stage < shape.stages; ++stage) {
    longest = std::max(longest, of_one_more(stage));
  }
  const double more = (shape.micro_batches - filled.shape.micro_batches) * longest;
  for (StageHours& stage : hours) {
    stage.end += more;
  }
  return hours;
}

}  // namespace tessera::explore
