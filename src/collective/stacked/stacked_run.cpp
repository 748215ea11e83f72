#include "tessera/collective/stacked/stacked_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::collective {

Channel StackedCollective::channel_of(std::uint32_t chunk) const {
  if (channels == 1) {
    return {};
  }
  const std::uint32_t block = dimensions.front().algorithm->block();
  const std::uint32_t among = block == 1 ? channels : std::gcd(block, channels);
  return {chunk % channels % among, among};
}

StackedCollective plan_collective(Kind kind, Bytes bytes, std::vector<RunDimension> dimensions,
                                  const StackedOptions& options, const TurnOptions& turn_options,
                                  const DimensionMessageTime& message) {
  StackedCollective collective{kind, bytes, std::move(dimensions), {}, turn_options.at_a_time,
                               1,    {}};
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

StackedCollective plan_channels(Kind kind, Bytes bytes, const RunDimension& dimension,
                                std::uint32_t channels, StackedOptions options,
                                TurnOptions turn_options, const DimensionMessageTime& message) {
  ensure(channels > 0 && dimension.dimension.size % channels == 0 && !has_root(kind),
         "blocks of members that are alike");
  options.chunks *= channels;
  turn_options.at_a_time *= channels;
  StackedCollective collective =
      plan_collective(kind, bytes, {dimension}, options, turn_options, message);
  collective.channels = channels;
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

AlgorithmPart StackedRun::part_of(const Turn& turn) const {
  const ChunkPlan& chunk = collective_.turns.chunks[turn.chunk];
  const Phase& phase = phase_of(turn);
  const RunDimension& dimension = collective_.dimensions[phase.dimension];
  const std::uint32_t size = dimension.dimension.size;
  const std::uint32_t queues = dimension.dimension.queues;
  const auto chunks = static_cast<std::uint32_t>(chunk_phase_.size());
  AlgorithmPart part;
  part.algorithm = dimension.algorithm;
  part.kind = phase.kind;
  part.size = size;
  part.channel = collective_.channel_of(turn.chunk);
  part.member = part.channel.turned(coordinates_[phase.dimension]);
  part.bytes = phase_bytes(chunk, phase, chunk_bytes(collective_.bytes, chunks, turn.chunk),
                           collective_.shape, coordinates_);
  part.costs = dimension.costs;
  part.root = root_[phase.dimension];
  part.turned_round = queues > 1 && phase.queue >= queues / 2 && dimension.algorithm->turns_round();
  if (part.turned_round && part.member != 0) {
    part.member = size - part.member;
  }
  part.dimension = phase.dimension;
  part.chunk = turn.chunk;
  part.phase = static_cast<std::uint16_t>(turn.phase);
  return part;
}

StackedRun::PhaseRun* StackedRun::find(const StepName& name) {
  const Turn turn{name.chunk, name.phase};
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const PhaseRun& phase) { return phase.turn == turn; });
  return found == running_.end() ? nullptr : &*found;
}

// Those of all queues that may begin; a phase that is over at once makes room for others.
void StackedRun::begin_turns(RunActions& actions) {
  for (bool again = true; again;) {
    again = false;
    const std::size_t running = running_.size();
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
    if (collective_.channels > 1) {
      go_on(running, actions);
    }
  }
}

void StackedRun::go_on(std::size_t first, RunActions& actions) {
  while (first < running_.size()) {
    running_[first].run.go_on(actions);
    first += settle(running_[first], actions) ? 0 : 1;
  }
}

void StackedRun::begin_phase(const Turn& turn, RunActions& actions) {
  AlgorithmRun run(part_of(turn));
  if (run.is_over() || !takes_part(turn)) {
    end_phase(turn);
    return;
  }
  actions.phase_begins(turn.chunk, static_cast<std::uint16_t>(turn.phase));
  PhaseRun& phase = running_.emplace_back(PhaseRun{turn, std::move(run)});
  if (collective_.channels > 1) {  // all send before one of them goes on, as tiles of a plan do
    phase.run.begin_sending(actions);
    return;
  }
  phase.run.begin(actions);
  settle(phase, actions);
}

// Whether the phase is over, so that others may begin.
bool StackedRun::settle(PhaseRun& phase, RunActions& actions) {
  if (!phase.run.is_over()) {
    return false;
  }
  const Turn turn = phase.turn;
  actions.phase_ends(turn.chunk, static_cast<std::uint16_t>(turn.phase));
  running_.erase(running_.begin() + (&phase - running_.data()));
  end_phase(turn);
  return true;
}

void StackedRun::end_phase(const Turn& turn) {
  --under_way_[collective_.turns.queue_of(phase_of(turn))];
  if (++chunk_phase_[turn.chunk] == collective_.turns.chunks[turn.chunk].phases.size()) {
    ++chunks_over_;
  }
}

bool StackedRun::arrived(const StepName& name, RunActions& actions) {
  PhaseRun* const phase = find(name);
  if (phase == nullptr || !phase->run.arrived(name, actions)) {
    return false;
  }
  if (settle(*phase, actions)) {
    begin_turns(actions);
  }
  return true;
}

void StackedRun::elapsed(const StepName& name, RunActions& actions) {
  PhaseRun* const phase = find(name);
  ensure(phase != nullptr, "a step ends whose phase is under way");
  phase->run.elapsed(name, actions);
  if (settle(*phase, actions)) {
    begin_turns(actions);
  }
}

void StackedRun::passed_on(const StepName& name, std::uint32_t steps) {
  PhaseRun* const phase = find(name);
  ensure(phase != nullptr, "steps of a phase that is under way");
  phase->run.passed_on(name, steps);
}

bool StackedRun::visit_awaited(const AwaitedVisit& visit) const {
  return !running_.empty() && std::all_of(running_.begin(), running_.end(), [&](const auto& phase) {
    return phase.run.visit_awaited(visit);
  });
}

std::string StackedRun::waits_in() const {
  return running_.empty() ? "no dimension" : running_.front().run.waits_in();
}

std::vector<std::uint32_t> StackedRun::save() const {
  std::vector<std::uint32_t> state = chunk_phase_;
  state.insert(state.end(), next_turn_.begin(), next_turn_.end());
  state.push_back(static_cast<std::uint32_t>(running_.size()));
  for (const PhaseRun& phase : running_) {
    const std::vector<std::uint32_t> own = phase.run.save();
    state.insert(state.end(),
                 {phase.turn.chunk, phase.turn.phase, static_cast<std::uint32_t>(own.size())});
    state.insert(state.end(), own.begin(), own.end());
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
    Turn turn;
    turn.chunk = next();
    turn.phase = next();
    std::vector<std::uint32_t> own(next());
    std::generate(own.begin(), own.end(), next);
    running_.emplace_back(PhaseRun{turn, AlgorithmRun(part_of(turn))}).run.restore(own);
    ++under_way_[collective_.turns.queue_of(phase_of(turn))];
  }
}

}  // namespace tessera::collective
