#include "search/pass_clock.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::explore {
namespace {

using plan::Pass;
using plan::Phase;
using plan::PipelineShape;

bool goes_back(Phase phase) {
  return phase == Phase::backward || phase == Phase::input_gradient;
}

// Of the pass of the same micro-batch that one of `part` comes after; `part` itself where there is
// none.
std::uint32_t part_before(Phase phase, std::uint32_t part, std::size_t parts) {
  return phase == Phase::forward && part > 0    ? part - 1
         : goes_back(phase) && part + 1 < parts ? part + 1
                                                : part;
}

}  // namespace

std::vector<PassClock::Step> PassClock::steps_of(const std::string& schedule,
                                                 const PipelineShape& shape) {
  std::vector<std::vector<Pass>> passes;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    passes.push_back(plan::schedules().at(schedule).passes(shape, stage));
  }
  // Where the step of each part and micro-batch is, forward and back.
  const std::size_t parts = shape.parts();
  std::array<std::vector<std::uint32_t>, 2> places;
  places.fill(std::vector<std::uint32_t>(parts * shape.micro_batches, nothing));
  const auto place = [&](bool back, std::uint32_t part, std::uint32_t micro) -> std::uint32_t& {
    return places[back ? 1 : 0][part * std::size_t{shape.micro_batches} + micro];
  };
  std::vector<Step> steps;
  std::vector<std::size_t> next(shape.stages);
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      for (; next[stage] < passes[stage].size(); ++next[stage]) {
        const Pass& pass = passes[stage][next[stage]];
        const std::uint32_t part = shape.part_of(stage, pass.chunk);
        const bool back = goes_back(pass.phase);
        const bool forward = pass.phase == Phase::forward;
        Step step{stage, pass.phase, pass.chunk};
        const std::uint32_t from = part_before(pass.phase, part, parts);
        if (from != part) {
          step.before = place(back, from, pass.micro_batch);
          if (step.before == nothing) {
            break;  // later
          }
          const std::uint32_t other = shape.stage_of(from);
          step.crossing = other == stage ? nothing : std::min(stage, other);
        }
        if (forward || back) {
          place(back, part, pass.micro_batch) = static_cast<std::uint32_t>(steps.size());
        }
        steps.push_back(step);
        any = true;
      }
    }
  }
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    ensure(next[stage] == passes[stage].size(), "a schedule whose passes can be run");
  }
  return steps;
}

std::vector<StageHours> PassClock::hours(const std::string& schedule, const PipelineShape& shape,
                                         const std::vector<PassTimes>& times,
                                         const std::vector<double>& crossings) {
  PipelineShape filled = shape;
  filled.micro_batches = std::min(shape.micro_batches, 2 * shape.stages + 2);
  const auto [entry, fresh] = known_.try_emplace({schedule, filled.stages, filled.micro_batches});
  if (fresh) {
    entry->second = steps_of(schedule, filled);
  }
  const std::vector<Step>& steps = entry->second;
  done_.resize(steps.size());
  std::vector<StageHours> hours(shape.stages, StageHours{-1, 0});
  std::vector<double> busy(shape.stages);
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const Step& step = steps[number];
    StageHours& stage = hours[step.stage];
    double start = stage.end;
    if (step.before != nothing) {
      start = std::max(
          start, done_[step.before] + (step.crossing == nothing ? 0 : crossings[step.crossing]));
    }
    const double time = times[step.stage].at(step.phase, step.chunk);
    stage.begin = stage.begin < 0 ? start : stage.begin;
    stage.end = start + time;
    busy[step.stage] += time;
    done_[number] = stage.end;
  }
  const double more = static_cast<double>(shape.micro_batches - filled.micro_batches) /
                      filled.micro_batches * *std::max_element(busy.begin(), busy.end());
  for (StageHours& stage : hours) {
    stage.end += more;
  }
  return hours;
}

}  // namespace tessera::explore
