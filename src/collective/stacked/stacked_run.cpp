#include "tessera/collective/stacked/stacked_run.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::collective {

StackedCollective plan_collective(Kind kind, Bytes bytes, std::vector<RunDimension> dimensions,
                                  const StackedOptions& options, const TurnOptions& turn_options,
                                  const DimensionMessageTime& message) {
  StackedCollective collective{kind, bytes, std::move(dimensions), {}, turn_options.at_a_time, {}};
  for (const RunDimension& dimension : collective.dimensions) {
    collective.shape.push_back(dimension.dimension);
  }
  // Chunks are alike: their phases come in few sizes.
  std::map<std::tuple<std::uint32_t, Kind, std::uint64_t>, SimTime> known;
  const PhaseTime time = [&](const Phase& phase, Bytes of_phase) {
    const auto [entry, is_new] =
        known.try_emplace({phase.dimension, phase.kind, of_phase.count()}, SimTime::zero());
    if (is_new) {
      const RunDimension& dimension = collective.dimensions[phase.dimension];
      entry->second = phase_time(
          *dimension.algorithm, phase.kind, dimension.dimension.size, of_phase,
          [&](Member from, Member to, Bytes of_message) {
            return message(phase.dimension, from, to, of_message);
          },
          dimension.costs);
    }
    return entry->second;
  };
  collective.turns = plan_turns(kind, bytes, collective.shape, options, turn_options, time);
  return collective;
}

StackedRun::StackedRun(const StackedCollective& collective, std::vector<std::uint32_t> coordinates,
                       std::vector<std::uint32_t> root)
    : collective_(collective),
      coordinates_(std::move(coordinates)),
      root_(std::move(root)),
      chunk_phase_(collective.turns.chunks.size()),
      next_turn_(collective.turns.of.size()),
      under_way_(collective.turns.of.size()) {
  for (std::size_t d = 0; d < coordinates_.size(); ++d) {
    const std::uint32_t size = collective.dimensions[d].dimension.size;
    ensure(coordinates_[d] < size && root_[d] < size, "a coordinate outside its dimension");
    coordinates_[d] = (coordinates_[d] + size - root_[d]) % size;
  }
  for (const ChunkPlan& chunk : collective.turns.chunks) {
    chunks_over_ += chunk.phases.empty() ? 1 : 0;
  }
}

void StackedRun::begin(RunActions& actions) {
  begin_turns(actions);
}

bool StackedRun::takes_part(const Turn& turn) const {
  const std::vector<std::uint32_t>& order = collective_.turns.chunks[turn.chunk].order;
  const auto end = order.begin() + phase_of(turn).with_root;
  return std::all_of(order.begin(), end, [this](std::uint32_t d) { return coordinates_[d] == 0; });
}

Member StackedRun::counted(const Phase& phase, Member member) const {
  const RunDimension& dimension = collective_.dimensions[phase.dimension];
  const std::uint32_t queues = dimension.dimension.queues;
  const bool is_round =
      queues > 1 && phase.queue >= queues / 2 && dimension.algorithm->turns_round();
  return is_round && member != 0 ? dimension.dimension.size - member : member;
}

Step StackedRun::step_of(const Turn& turn, std::uint32_t lane, std::uint32_t number) const {
  const ChunkPlan& chunk = collective_.turns.chunks[turn.chunk];
  const Phase& phase = phase_of(turn);
  const RunDimension& dimension = dimension_of(turn);
  const auto chunks = static_cast<std::uint32_t>(chunk_phase_.size());
  const Bytes bytes = phase_bytes(chunk, phase, chunk_bytes(collective_.bytes, chunks, turn.chunk),
                                  collective_.shape, coordinates_);
  const std::uint32_t lanes = dimension.algorithm->lanes(phase.kind);
  return dimension.algorithm->step(phase.kind, dimension.dimension.size,
                                   counted(phase, coordinates_[phase.dimension]),
                                   chunk_bytes(bytes, lanes, lane), number, lane);
}

StackedRun::PhaseRun* StackedRun::find(const Turn& turn) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const PhaseRun& run) { return run.turn == turn; });
  return found == running_.end() ? nullptr : &*found;
}

// Those of all queues that may begin; a phase that is over at once makes room for others.
void StackedRun::begin_turns(RunActions& actions) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t queue = 0; queue < next_turn_.size(); ++queue) {
      const std::vector<Turn>& turns = collective_.turns.of[queue];
      while (next_turn_[queue] < turns.size() && under_way_[queue] < collective_.at_a_time &&
             chunk_phase_[turns[next_turn_[queue]].chunk] == turns[next_turn_[queue]].phase) {
        const Turn turn = turns[next_turn_[queue]++];
        ++under_way_[queue];
        begin_phase(turn, actions);
        again = true;
      }
    }
  }
}

void StackedRun::begin_phase(const Turn& turn, RunActions& actions) {
  const RunDimension& dimension = dimension_of(turn);
  const Phase& phase = phase_of(turn);
  const std::uint32_t steps = dimension.algorithm->steps(phase.kind, dimension.dimension.size);
  PhaseRun& run = running_.emplace_back();
  run.turn = turn;
  if (steps > 0 && takes_part(turn)) {
    run.lanes.resize(dimension.algorithm->lanes(phase.kind));
    run.lanes_left = static_cast<std::uint32_t>(run.lanes.size());
    if (!dimension.algorithm->in_step()) {
      for (Lane& lane : run.lanes) {
        lane.ended.resize(steps);
      }
    }
  }
  if (run.lanes_left > 0) {
    actions.phase_begins(turn.chunk, static_cast<std::uint16_t>(turn.phase));
  }
  const SimTime first = dimension.costs.endpoint;
  if (run.lanes_left > 0 && first > SimTime::zero()) {
    actions.wait(first, {turn.chunk, static_cast<std::uint16_t>(turn.phase), 0, before_steps});
    return;
  }
  settle(run, actions);
}

void StackedRun::begin_steps(PhaseRun& run, std::uint32_t lane, RunActions& actions) {
  const Phase& phase = phase_of(run.turn);
  const RunDimension& dimension = dimension_of(run.turn);
  const std::uint32_t steps = dimension.algorithm->steps(phase.kind, dimension.dimension.size);
  const auto size = dimension.dimension.size;
  Lane& own = run.lanes[lane];
  while (own.begun < steps) {
    const std::uint32_t number = own.begun;
    const Step step = step_of(run.turn, lane, number);
    if (step.after > own.over) {
      return;
    }
    ++own.begun;
    StepName name{run.turn.chunk, static_cast<std::uint16_t>(run.turn.phase),
                  static_cast<std::uint16_t>(lane), step.send_step};
    if (step.send_to != nobody) {
      actions.send(phase.dimension, (counted(phase, step.send_to) + root_[phase.dimension]) % size,
                   name, dimension.costs.on_wire(step.send_bytes));
    }
    name.step = number;
    if (step.receive_from == nobody) {
      end_step(run, lane, number);
    } else if (actions.take_early(name)) {
      take(run, lane, number, step, actions);
    }
  }
}

void StackedRun::take(PhaseRun& run, std::uint32_t lane, std::uint32_t number, const Step& step,
                      RunActions& actions) {
  const StepCosts& costs = dimension_of(run.turn).costs;
  actions.taken(costs.on_wire(step.receive_bytes));
  const SimTime time = costs.after_message(step, number);
  if (time > SimTime::zero()) {
    actions.wait(time, {run.turn.chunk, static_cast<std::uint16_t>(run.turn.phase),
                        static_cast<std::uint16_t>(lane), number});
  } else {
    end_step(run, lane, number);
  }
}

void StackedRun::end_step(PhaseRun& run, std::uint32_t lane, std::uint32_t number) {
  Lane& own = run.lanes[lane];
  const Phase& phase = phase_of(run.turn);
  const RunDimension& dimension = dimension_of(run.turn);
  const std::uint32_t steps = dimension.algorithm->steps(phase.kind, dimension.dimension.size);
  if (own.ended.empty()) {
    ensure(own.over == number, "steps that end in order");
    ++own.over;
  } else {
    own.ended[number] = true;
    while (own.over < steps && own.ended[own.over]) {
      ++own.over;
    }
  }
  run.lanes_left -= own.over == steps ? 1 : 0;
}

// Goes on with a phase as far as it can, and when it is over with what comes after it.
void StackedRun::settle(PhaseRun& run, RunActions& actions) {
  run.begun = true;
  for (std::uint32_t lane = 0; lane < run.lanes.size(); ++lane) {
    begin_steps(run, lane, actions);
  }
  if (run.lanes_left > 0) {
    return;
  }
  const Turn turn = run.turn;
  if (!run.lanes.empty()) {
    actions.phase_ends(turn.chunk, static_cast<std::uint16_t>(turn.phase));
  }
  --under_way_[collective_.turns.queue_of(phase_of(turn))];
  running_.erase(running_.begin() + (&run - running_.data()));
  if (++chunk_phase_[turn.chunk] == collective_.turns.chunks[turn.chunk].phases.size()) {
    ++chunks_over_;
  }
}

bool StackedRun::arrived(const StepName& name, RunActions& actions) {
  PhaseRun* const run = find({name.chunk, name.phase});
  if (run == nullptr || !run->begun || name.step >= run->lanes[name.lane].begun) {
    return false;
  }
  take(*run, name.lane, name.step, step_of(run->turn, name.lane, name.step), actions);
  settle(*run, actions);
  begin_turns(actions);
  return true;
}

void StackedRun::elapsed(const StepName& name, RunActions& actions) {
  PhaseRun* const run = find({name.chunk, name.phase});
  ensure(run != nullptr, "a step ends whose phase is under way");
  if (name.step != before_steps) {
    end_step(*run, name.lane, name.step);
  }
  settle(*run, actions);
  begin_turns(actions);
}

void StackedRun::passed_on(const StepName& name, std::uint32_t steps) {
  PhaseRun* const run = find({name.chunk, name.phase});
  ensure(run != nullptr && run->begun, "steps of a phase that is under way");
  Lane& lane = run->lanes[name.lane];
  ensure(lane.ended.empty() && lane.begun == lane.over + 1, "steps one after the other");
  lane.over += steps;
  lane.begun += steps;
}

std::string StackedRun::waits_in() const {
  return running_.empty()
             ? "no dimension"
             : "dimension " + std::to_string(phase_of(running_.front().turn).dimension);
}

std::vector<std::uint32_t> StackedRun::save() const {
  std::vector<std::uint32_t> state = chunk_phase_;
  state.insert(state.end(), next_turn_.begin(), next_turn_.end());
  state.push_back(static_cast<std::uint32_t>(running_.size()));
  for (const PhaseRun& run : running_) {
    state.insert(state.end(), {run.turn.chunk, run.turn.phase, run.begun ? 1U : 0U, run.lanes_left,
                               static_cast<std::uint32_t>(run.lanes.size())});
    for (const Lane& lane : run.lanes) {
      state.insert(state.end(),
                   {lane.begun, lane.over, static_cast<std::uint32_t>(lane.ended.size())});
      // Only those between `over` and `begun` are not known from these.
      for (std::uint32_t number = lane.over; !lane.ended.empty() && number < lane.begun; ++number) {
        state.push_back(lane.ended[number] ? 1 : 0);
      }
    }
  }
  return state;
}

void StackedRun::restore(const std::vector<std::uint32_t>& state) {
  std::size_t at = 0;
  const auto next = [&] {
    ensure(at < state.size(), "the state of a collective ends early");
    return state[at++];
  };
  chunks_over_ = 0;
  for (std::size_t chunk = 0; chunk < chunk_phase_.size(); ++chunk) {
    chunk_phase_[chunk] = next();
    chunks_over_ += chunk_phase_[chunk] == collective_.turns.chunks[chunk].phases.size() ? 1 : 0;
  }
  for (std::uint32_t& turn : next_turn_) {
    turn = next();
  }
  running_.clear();
  std::fill(under_way_.begin(), under_way_.end(), 0U);
  for (std::uint32_t left = next(); left > 0; --left) {
    PhaseRun& run = running_.emplace_back();
    run.turn.chunk = next();
    run.turn.phase = next();
    run.begun = next() != 0;
    run.lanes_left = next();
    run.lanes.resize(next());
    for (Lane& lane : run.lanes) {
      lane.begun = next();
      lane.over = next();
      lane.ended.resize(next());
      for (std::uint32_t number = 0; !lane.ended.empty() && number < lane.begun; ++number) {
        lane.ended[number] = number < lane.over || next() != 0;
      }
    }
    ++under_way_[collective_.turns.queue_of(phase_of(run.turn))];
  }
}

}  // namespace tessera::collective
