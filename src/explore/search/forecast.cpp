#include "search/forecast.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::explore {
namespace {

using collective::Kind;
using plan::Group;
using plan::LayerState;
using plan::Phase;

constexpr double events_of_an_operator = 2;  // asked for, and done
constexpr double events_of_a_message = 4;    // asked for, hops, arrived

std::vector<std::size_t> first_of_kinds(const std::vector<std::size_t>& kinds) {
  std::vector<std::size_t> firsts;
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    if (kinds[layer] == firsts.size()) {
      firsts.push_back(layer);
    }
  }
  return firsts;
}

machine::Tile tile_with_least_sram(const machine::Machine& machine) {
  machine::Tile least = machine.tiles().front();
  for (const machine::Tile& tile : machine.tiles()) {
    least = tile.sram < least.sram ? tile : least;
  }
  return least;
}

template <class T>
T between(const std::vector<T>& before, std::size_t first, std::size_t end) {
  return before[end] - before[first];
}

LayerState between(const std::vector<LayerState>& before, std::size_t first, std::size_t end) {
  const LayerState& a = before[first];
  const LayerState& b = before[end];
  return {b.weights - a.weights,
          b.gradients - a.gradients,
          b.optimizer - a.optimizer,
          b.stored - a.stored,
          b.used_weights - a.used_weights,
          b.used_expert_weights - a.used_expert_weights,
          b.dense_gradients - a.dense_gradients,
          b.expert_gradients - a.expert_gradients,
          b.whole_gradients - a.whole_gradients,
          b.update_read - a.update_read,
          b.update_written - a.update_written,
          b.boundary - a.boundary};
}

bool looks_for_its_place(const std::string& layout) {
  return layout == "optimized" || layout == "given";
}

std::size_t number_of(const plan::Holding& holding) {
  return (holding.weights ? 1U : 0U) + (holding.activations ? 2U : 0U);
}

}  // namespace

Forecaster::PassCost& Forecaster::PassCost::operator+=(const PassCost& other) {
  compute += other.compute;
  blocking += other.blocking;
  beside += other.beside;
  accessed += other.accessed;
  events += other.events;
  return *this;
}

Forecaster::Forecaster(const sim::Experiment& experiment, const workload::Workload& workload,
                       const plan::Strategy& base)
    : experiment_(experiment),
      workload_(workload),
      base_(base),
      finder_(experiment.machine, *experiment.network),
      durations_(experiment.machine, *experiment.compute),
      kinds_(plan::kinds_of_layers(workload, base)),
      firsts_(first_of_kinds(kinds_)),
      least_tile_(tile_with_least_sram(experiment.machine)),
      tensor_algorithm_(collective::algorithms().at(base.tensor_algorithm)({})),
      data_algorithm_(collective::algorithms().at(base.data_algorithm)({})) {}

void Forecaster::turn_to(const Candidate& candidate) {
  strategy_ = candidate.strategy(base_, workload_.samples);
  if (looks_for_its_place(candidate.layout)) {
    strategy_.layout = "linear";
  }
  groups_ = plan::standard_groups(strategy_);
  const DegreesKey degrees{strategy_.degrees.pipeline, strategy_.degrees.data,
                           strategy_.degrees.tensor, strategy_.context};
  const CutKey cut{strategy_.degrees.tensor, strategy_.context,
                   strategy_.expert,         strategy_.sequence_parallel,
                   strategy_.micro_batch,    strategy_.recompute,
                   strategy_.overlap_tensor, strategy_.degrees.pipeline > 1};
  const SharingKey sharing{strategy_.zero, strategy_.expert};
  const bool other_degrees = !any_ || degrees != degrees_key_;
  const bool other_cut = !any_ || cut != cut_key_;
  if (other_degrees) {
    layouts_.clear();
  }
  if (other_cut) {
    outlines_.clear();
    cuts_.clear();
  }
  for (auto& [name, layout] : layouts_) {
    if (other_cut) {
      layout.costs = {};
    }
    if (other_cut || sharing != sharing_key_) {
      layout.sharing.reset();
    }
  }
  degrees_key_ = degrees;
  cut_key_ = cut;
  sharing_key_ = sharing;
  any_ = true;
}

Forecaster::PerLayout& Forecaster::layout_of() {
  const auto [entry, fresh] = layouts_.try_emplace(strategy_.layout);
  if (fresh) {
    try {
      entry->second.ways = std::make_unique<Ways>(finder_, strategy_);
    } catch (const ConfigError& error) {
      entry->second.objection = error.diagnostics().front().message;
    }
  }
  return entry->second;
}

const plan::PassOutline& Forecaster::outline_of(std::size_t kind, PassKind pass,
                                                const plan::Holding& holding) {
  constexpr std::array phases{Phase::forward, Phase::backward, Phase::input_gradient,
                              Phase::weight_gradient};
  const auto [entry, fresh] =
      outlines_.try_emplace({kind, pass, holding.weights, holding.activations});
  if (fresh) {
    entry->second = plan::outline_of(workload_, strategy_, firsts_[kind], phases[pass], holding,
                                     least_tile_.sram);
  }
  return entry->second;
}

Forecaster::PassCost Forecaster::cost_of(Ways& ways, const plan::PassOutline& outline) {
  PassCost cost;
  for (const workload::Operation& operation : outline.operations) {
    cost.compute += durations_.of(operation);
    cost.events += events_of_an_operator;
  }
  for (const plan::PassOutline::Collective& each : outline.collectives) {
    const bool over_replicas = each.group == Group::data || each.group == Group::expert_data;
    const collective::Algorithm& algorithm = over_replicas ? *data_algorithm_ : *tensor_algorithm_;
    (each.background ? cost.beside : cost.blocking) +=
        ways.time(each.shape, algorithm, each.kind, each.bytes);
    cost.events += events_of_a_message * ways.steps(each.shape, algorithm, each.kind);
  }
  cost.accessed = static_cast<double>(outline.accessed.count());
  return cost;
}

const Forecaster::CostSums& Forecaster::costs_of(PerLayout& layout, const plan::Holding& holding) {
  std::unique_ptr<CostSums>& sums = layout.costs[number_of(holding)];
  if (sums) {
    return *sums;
  }
  std::vector<PassCosts> of_kinds(firsts_.size());
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) {
    of_kinds[kind][forward] = cost_of(*layout.ways, outline_of(kind, forward, holding));
    for (const PassKind pass : {backward, inputs, weights}) {
      if (workload_.training) {
        of_kinds[kind][pass] = cost_of(*layout.ways, outline_of(kind, pass, holding));
      }
    }
  }
  sums = std::make_unique<CostSums>();
  sums->before.resize(1);
  for (const std::size_t kind : kinds_) {
    PassCosts next = sums->before.back();
    for (std::size_t pass = 0; pass < pass_kinds; ++pass) {
      next[pass] += of_kinds[kind][pass];
    }
    sums->before.push_back(next);
  }
  return *sums;
}

// What replicas send of a layer: see PieceWriter::gather_weights and reduce_gradients.
const Forecaster::SharingSums& Forecaster::sharing_of(PerLayout& layout) {
  if (layout.sharing) {
    return *layout.sharing;
  }
  const plan::GroupShape& data = groups_[static_cast<std::size_t>(Group::data)];
  const plan::GroupShape& expert = groups_[static_cast<std::size_t>(Group::expert_data)];
  const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
  std::vector<LayerState> states;
  std::vector<Span> gathers;
  std::vector<Span> reductions;
  Bytes least_boundary(std::numeric_limits<std::uint64_t>::max());
  Bytes most_boundary;
  Ways& ways = *layout.ways;
  for (const std::size_t first : firsts_) {
    const LayerState state = plan::state_of(workload_, strategy_, first);
    states.push_back(state);
    if (state.boundary > Bytes(0)) {  // there is none after the last layer
      least_boundary = std::min(least_boundary, state.boundary);
      most_boundary = std::max(most_boundary, state.boundary);
    }
    gathers.push_back(
        ways.time(data, *data_algorithm_, Kind::all_gather, state.used_weights) +
        ways.time(expert, *data_algorithm_, Kind::all_gather, state.used_expert_weights));
    reductions.push_back(ways.time(data, *data_algorithm_, kind, state.dense_gradients) +
                         ways.time(expert, *data_algorithm_, kind, state.expert_gradients));
  }
  layout.sharing = std::make_unique<SharingSums>();
  SharingSums& sums = *layout.sharing;
  sums.least_boundary = std::min(least_boundary, most_boundary);
  sums.most_boundary = most_boundary;
  sums.state.resize(1);
  sums.gather.resize(1);
  sums.reduce.resize(1);
  for (const std::size_t of_kind : kinds_) {
    LayerState next = sums.state.back();
    sums.state.push_back(next += states[of_kind]);
    sums.gather.push_back(sums.gather.back() + gathers[of_kind]);
    sums.reduce.push_back(sums.reduce.back() + reductions[of_kind]);
  }
  return sums;
}

// As plans cut them: by what layers take, forward and backward.
const Forecaster::Cuts& Forecaster::cuts_of(std::uint32_t stages, std::uint32_t chunks) {
  const auto [entry, fresh] = cuts_.try_emplace({stages, chunks});
  if (fresh) {
    entry->second.first =
        plan::balance_layers({layer_costs()}, std::vector<std::size_t>(stages * chunks, 0));
    const std::vector<std::size_t>& first = entry->second.first;
    const auto same_layers = [&](std::size_t part) {
      const auto begin = [&](std::size_t of) {
        return kinds_.begin() + static_cast<std::ptrdiff_t>(first[of]);
      };
      return std::equal(begin(part), begin(part + 1), begin(part - 1), begin(part));
    };
    entry->second.repeats.assign(stages, 1);
    entry->second.repeats[0] = 0;
    for (std::uint32_t part = 0; part < stages * chunks; ++part) {
      const std::uint32_t stage = part % stages;
      if (stage > 0 && !same_layers(part)) {
        entry->second.repeats[stage] = 0;
      }
    }
  }
  return entry->second;
}

// [layers] what each takes.
std::vector<std::uint64_t> Forecaster::layer_costs() {
  const plan::Holding all{true, true};
  std::vector<std::uint64_t> of_kinds;
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) {
    double sum = 0;
    for (const PassKind pass : {forward, backward}) {
      if (pass == forward || workload_.training) {
        for (const workload::Operation& operation : outline_of(kind, pass, all).operations) {
          sum += durations_.of(operation).likely;
        }
      }
    }
    of_kinds.push_back(static_cast<std::uint64_t>(sum));
  }
  std::vector<std::uint64_t> costs;
  for (const std::size_t kind : kinds_) {
    costs.push_back(of_kinds[kind]);
  }
  return costs;
}

// plan::most_in_flight of the schedules, in closed form.
std::uint32_t Forecaster::in_flight(const Candidate& candidate, std::uint32_t stage) const {
  const std::uint64_t count = strategy_.micro_batches;
  const std::uint64_t stages = strategy_.degrees.pipeline;
  std::uint64_t kept = count;
  if (candidate.schedule == "1f1b") {
    kept = stages - stage;
  } else if (candidate.schedule == "zb-h1") {
    kept = stages;
  } else if (candidate.schedule == "interleaved") {
    kept = (stages - stage - 1) * 2 + (candidate.chunks - 1) * stages + 1;
    return static_cast<std::uint32_t>(std::min(kept, count * candidate.chunks));
  } else if (candidate.schedule == "layer-wise") {
    kept = 1;
  }
  return static_cast<std::uint32_t>(std::min(kept, count));
}

plan::StageMemory Forecaster::memory_of(const SharingSums& sharing,
                                        const std::vector<std::size_t>& cuts,
                                        std::uint32_t stage) const {
  plan::StageMemory memory;
  Bytes stored;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::size_t part = std::size_t{chunk} * strategy_.degrees.pipeline + stage;
    const LayerState state = between(sharing.state, cuts[part], cuts[part + 1]);
    memory.weights += state.weights;
    memory.gradients += state.gradients;
    memory.optimizer += state.optimizer;
    stored += state.stored;
  }
  memory.activations_per_micro_batch =
      Bytes((stored.count() + strategy_.chunks - 1) / strategy_.chunks);
  return memory;
}

// What each place keeps of all stages that share it, and the tightest of them.
void Forecaster::find_need(const PerLayout& layout, const std::vector<plan::StageMemory>& memory,
                           Forecast& forecast) const {
  if (experiment_.machine.channels.empty()) {
    for (std::uint32_t stage = 0; stage < memory.size(); ++stage) {
      take({stage, 1, memory[stage].total(), least_tile_.sram, std::nullopt}, memory, forecast);
    }
    return;
  }
  const auto kept = [&](std::uint32_t stage) {
    return least_tile_.operands_in_dram ? memory[stage].total() : memory[stage].in_dram();
  };
  for (const ChannelClass& channel : layout.ways->channels()) {
    Need need{channel.tiles.front().first, 0, {}, channel.capacity, channel.first};
    for (const auto& [stage, count] : channel.tiles) {
      need.asked += kept(stage) * count;
      need.tiles += count;
      need.stage = kept(stage) > kept(need.stage) ? stage : need.stage;
    }
    take(need, memory, forecast);
  }
}

void Forecaster::take(const Need& need, const std::vector<plan::StageMemory>& memory,
                      Forecast& forecast) {
  if (need.capacity > Bytes(0) && need.share() > forecast.need.share()) {
    forecast.need = need;
    forecast.of_stage = memory[need.stage];
  }
}

// What is written may go on beside the next pass; the bound has accesses by the iteration.
Span Forecaster::pass_time(const PassCost& cost, double access) {
  return longest(longest(cost.compute + cost.blocking, cost.beside), {0, cost.accessed * access});
}

Span Forecaster::update_of(Ways& ways, const LayerState& state, const plan::StageMemory& memory,
                           double access) {
  const plan::GroupShape& tensor = groups_[static_cast<std::size_t>(Group::tensor)];
  const plan::GroupShape& data = groups_[static_cast<std::size_t>(Group::data)];
  const plan::GroupShape& expert = groups_[static_cast<std::size_t>(Group::expert_data)];
  Span time = ways.time(tensor, *tensor_algorithm_, Kind::all_reduce, state.whole_gradients);
  if (!strategy_.overlap_gradients && strategy_.zero < 2) {
    const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
    time += ways.time(data, *data_algorithm_, kind, state.dense_gradients);
    time += ways.time(expert, *data_algorithm_, kind, state.expert_gradients);
  }
  workload::Operation update;
  update.data_type = workload_.data_type;
  update.bytes = state.update_read + state.update_written;
  time += durations_.of(update);
  if (!memory.holds_weights) {
    const auto moved = static_cast<double>(update.bytes.count());
    time += {moved * ways.least_access(), moved * access};
  }
  if (strategy_.zero == 1 || strategy_.zero == 2) {
    time += ways.time(data, *data_algorithm_, Kind::all_gather, state.used_weights);
    time += ways.time(expert, *data_algorithm_, Kind::all_gather, state.used_expert_weights);
  }
  return time;
}

Forecaster::StageTimes Forecaster::times_of(PerLayout& layout, const std::vector<std::size_t>& cuts,
                                            std::uint32_t stage, const plan::StageMemory& memory) {
  Ways& ways = *layout.ways;
  const CostSums& costs = costs_of(layout, {memory.holds_weights, memory.holds_activations});
  const SharingSums& sharing = sharing_of(layout);
  const bool replicas = strategy_.degrees.data > 1;
  const double access = ways.access()[stage];
  // Outlines have all gradients; what streams is the tile's share.
  const bool shares_gradients = strategy_.zero >= 2 && !memory.holds_weights &&
                                strategy_.sram == plan::SramAllocation::resident;
  StageTimes times;
  LayerState all;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::size_t part = std::size_t{chunk} * strategy_.degrees.pipeline + stage;
    const std::size_t first = cuts[part];
    const std::size_t end = cuts[part + 1];
    all += between(sharing.state, first, end);
    const auto cost = [&](PassKind pass) {
      PassCost of = costs.before[end][pass] - costs.before[first][pass];
      if (replicas && strategy_.zero == 3 && pass != weights) {
        of.beside += between(sharing.gather, first, end);
        // The first layer's weights are waited for.
        of.blocking.likely += between(sharing.gather, first, first + 1).likely;
      }
      if (replicas && strategy_.zero >= 2 && (pass == backward || pass == weights)) {
        const Span reduced = between(sharing.reduce, first, end);
        if (strategy_.overlap_gradients) {
          of.beside.likely += reduced.likely;  // may go on beside the next pass
        } else {
          of.blocking += reduced;
        }
      }
      if (shares_gradients && (pass == backward || pass == weights)) {
        const LayerState here = between(sharing.state, first, end);
        const Bytes others = here.dense_gradients + here.expert_gradients - here.gradients;
        of.accessed -= 2 * static_cast<double>(others.count());
      }
      times.accessed += of.accessed * strategy_.micro_batches;
      times.events += of.events;
      return of;
    };
    const PassCost ahead = cost(forward);
    const Span time = pass_time(ahead, access);
    times.all_forward += time;
    if (chunk == 0) {
      times.first_forward = {(ahead.compute + ahead.blocking).least, time.likely};
      times.early = time.least - times.first_forward.least;
    }
    if (!workload_.training) {
      continue;
    }
    const PassCost back = cost(apart() ? inputs : backward);
    const Span back_time = pass_time(back, access);
    times.all_backward += back_time;
    if (chunk == 0) {
      times.first_backward = {(back.compute + back.blocking).least, back_time.likely};
    }
    PassCost last = back;
    if (apart()) {
      last = cost(weights);
      times.weight_gradients += pass_time(last, access);
    }
    if (replicas && strategy_.overlap_gradients && strategy_.zero >= 2) {
      // The update waits for what the last pass has to share out.
      times.last.likely += between(sharing.reduce, end - 1, end).likely;
    }
    if (replicas && strategy_.overlap_gradients && strategy_.zero < 2) {
      const Span before = pass_time(last, access);
      last.beside += between(sharing.reduce, first, end);
      const Span longer = pass_time(last, access) - before;
      // Beside several last passes those of others may be done.
      times.last += {strategy_.chunks > 1 ? 0 : longer.least, longer.likely};
    }
  }
  if (workload_.training) {
    times.update = update_of(ways, all, memory, access);
    if (!memory.holds_weights) {
      times.accessed += static_cast<double>((all.update_read + all.update_written).count());
    }
  }
  return times;
}

Span Forecaster::iteration(PerLayout& layout, const std::vector<StageTimes>& stages) const {
  const double count = strategy_.micro_batches;
  const double iterations = experiment_.options.iterations;
  Span head;
  Span tail;
  Span longest_stage;
  const Span crossing{layout.ways->boundary(layout.sharing->least_boundary).least,
                      layout.ways->boundary(layout.sharing->most_boundary).likely};
  for (std::size_t number = 0; number < stages.size(); ++number) {
    const StageTimes& stage = stages[number];
    const Span own = (stage.all_forward + stage.all_backward + stage.weight_gradients) * count -
                     Span{number > 0 ? stage.early : 0, 0};
    // Of those that are put off until after the last pass that other stages wait for.
    const Span put_off = stage.weight_gradients * std::min(count, static_cast<double>(number));
    const Span there_and_back =
        head + own - put_off + tail + stages.front().last + stages.front().update;
    const Span alone = head * (1 / iterations) + own + stage.last + stage.update;
    longest_stage = longest(longest_stage, longest(there_and_back, alone));
    head += stage.first_forward + crossing;
    if (workload_.training) {
      tail += stage.first_backward + crossing;
    }
  }
  for (const ChannelClass& channel : layout.ways->channels()) {
    double bytes = 0;
    for (const auto& [stage, tiles] : channel.tiles) {
      bytes += stages[stage].accessed * tiles;
    }
    longest_stage = longest(
        longest_stage,
        Span::both(bytes * 1e12 / static_cast<double>(channel.bandwidth.bytes_per_second())));
  }
  // Sums of many fractions are not exact.
  longest_stage.least *= 1 - 1e-9;
  return longest_stage;
}

// Whether what the stage keeps is where that of the one before is, and as fast to reach.
bool Forecaster::is_kept_alike(const PerLayout& layout,
                               const std::vector<plan::StageMemory>& memory, std::uint32_t stage) {
  const std::vector<double>& access = layout.ways->access();
  return access[stage] == access[stage - 1] &&
         memory[stage].holds_weights == memory[stage - 1].holds_weights &&
         memory[stage].holds_activations == memory[stage - 1].holds_activations;
}

Forecast Forecaster::of(const Candidate& candidate) {
  turn_to(candidate);
  Forecast forecast;
  PerLayout& layout = layout_of();
  if (!layout.ways) {
    forecast.placed = false;
    forecast.objection = layout.objection;
    return forecast;
  }
  const SharingSums& sharing = sharing_of(layout);
  const std::uint32_t stages = strategy_.degrees.pipeline;
  const Cuts& cuts = cuts_of(stages, strategy_.chunks);
  std::vector<plan::StageMemory> memory;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    plan::StageMemory& of = memory.emplace_back(
        cuts.repeats[stage] != 0 ? memory.back() : memory_of(sharing, cuts.first, stage));
    of.in_flight = in_flight(candidate, stage);
    const plan::Holding holding = plan::holding_of(
        least_tile_, !experiment_.machine.channels.empty(), of.weight_state(), of.activations());
    of.holds_weights = holding.weights;
    of.holds_activations = holding.activations;
    forecast.memory = std::max(forecast.memory, of.total());
  }
  find_need(layout, memory, forecast);
  if (!base_.check_capacity) {
    forecast.need.capacity = Bytes(0);
  }
  if (!forecast.fits()) {
    return forecast;
  }
  std::vector<StageTimes> times;
  double events = 0;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    const bool repeats = cuts.repeats[stage] != 0 && is_kept_alike(layout, memory, stage);
    times.push_back(repeats ? times.back() : times_of(layout, cuts.first, stage, memory[stage]));
    events += times.back().events * strategy_.degrees.data * strategy_.degrees.tensor;
  }
  forecast.events = events * strategy_.micro_batches;
  forecast.iteration = iteration(layout, times);
  return forecast;
}

}  // namespace tessera::explore
