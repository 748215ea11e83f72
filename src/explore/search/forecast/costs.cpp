// Of layers: what passes take, what replicas send of them, and how they are cut into stages.
#include <algorithm>
#include <limits>

#include "search/forecast/forecast.hpp"

namespace tessera::explore {
namespace {

using collective::Kind;
using plan::Group;
using plan::LayerState;
using plan::Phase;

constexpr double events_of_an_operator = 2;  // asked for, and done

std::size_t number_of(const plan::Holding& holding) {
  return (holding.weights ? 1U : 0U) + (holding.activations ? 2U : 0U);
}

}  // namespace

Forecaster::PassCost& Forecaster::PassCost::operator+=(const PassCost& other) {
  compute += other.compute;
  blocking += other.blocking;
  exchanges += other.exchanges;
  beside += other.beside;
  slowing += other.slowing;
  accessed += other.accessed;
  in_turn += other.in_turn;
  events += other.events;
  return *this;
}

const plan::PassOutline& Forecaster::outline_of(std::size_t kind, PassKind pass,
                                                const plan::Holding& holding) {
  constexpr std::array phases{Phase::forward, Phase::backward, Phase::input_gradient,
                              Phase::weight_gradient};
  const auto [entry, fresh] =
      outlines_.try_emplace({beside_first(), kind, pass, holding.weights, holding.activations});
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
    cost.slowing += durations_.beside(operation);
    cost.events += events_of_an_operator;
  }
  for (const plan::PassOutline::Collective& each : outline.collectives) {
    const bool over_replicas = plan::is_over_replicas(each.group);
    const collective::Algorithm& algorithm = over_replicas ? *data_algorithm_ : *tensor_algorithm_;
    const Span time = ways.time(each.shape, algorithm, each.kind, each.bytes);
    if (each.background) {
      cost.add_beside(time, 1);
    } else {
      cost.blocking += time;
    }
    cost.exchanges += !each.background && each.group == Group::expert ? time : Span{};
    cost.events += ways.events(each.shape, algorithm, each.kind, each.bytes);
  }
  cost.accessed = static_cast<double>(outline.accessed.count());
  const Bytes in_turn = ways.shares_channels() ? outline.accessed : outline.most_of_a_kind();
  cost.in_turn = static_cast<double>(in_turn.count());
  return cost;
}

const Forecaster::CostSums& Forecaster::costs_of(PerLayout& layout, const plan::Holding& holding) {
  std::unique_ptr<CostSums>& sums = layout.costs[beside_first()][number_of(holding)];
  if (sums) {
    return *sums;
  }
  Ways& ways = *layout.ways;
  std::vector<PassCosts> of_kinds(firsts_.size());
  std::vector<std::array<LinkBytes, pass_kinds>> carried(firsts_.size());
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) {
    for (const PassKind pass : {forward, backward, inputs, weights}) {
      if (pass == forward || workload_.training) {
        const plan::PassOutline& outline = outline_of(kind, pass, holding);
        of_kinds[kind][pass] = cost_of(ways, outline);
        carried[kind][pass] = ways.has_crowded_links() ? bytes_of(ways, outline) : LinkBytes();
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
  if (ways.has_crowded_links()) {
    sums->carried.resize(1);
    for (const std::size_t kind : kinds_) {
      std::array<LinkBytes, pass_kinds> next = sums->carried.back();
      for (std::size_t pass = 0; pass < pass_kinds; ++pass) {
        next[pass] += carried[kind][pass];
      }
      sums->carried.push_back(next);
    }
  }
  return *sums;
}

// What replicas send of a layer: see PieceWriter::gather_weights and reduce_gradients.
const Forecaster::SharingSums& Forecaster::sharing_of(PerLayout& layout) {
  std::unique_ptr<SharingSums>& made = layout.sharing[beside_first()];
  if (made) {
    return *made;
  }
  const plan::GroupShape& data = groups_[static_cast<std::size_t>(sharing_group())];
  const plan::GroupShape& expert = groups_[static_cast<std::size_t>(Group::expert_data)];
  const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
  std::vector<LayerState> states;
  std::vector<Span> gathers;
  std::vector<Span> reductions;
  std::vector<Span> copies;
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
        ways.time(data, *data_algorithm_, Kind::all_gather, state.sent_weights) +
        ways.time(expert, *data_algorithm_, Kind::all_gather, state.sent_expert_weights));
    reductions.push_back(ways.time(data, *data_algorithm_, kind, state.sent_gradients) +
                         ways.time(expert, *data_algorithm_, kind, state.sent_expert_gradients));
    copies.push_back(sum_of_copies(ways, state.sent_gradients));
  }
  made = std::make_unique<SharingSums>();
  SharingSums& sums = *made;
  sums.least_boundary = std::min(least_boundary, most_boundary);
  sums.most_boundary = most_boundary;
  sums.state.resize(1);
  sums.gather.resize(1);
  sums.reduce.resize(1);
  sums.copies.resize(1);
  for (const std::size_t of_kind : kinds_) {
    LayerState next = sums.state.back();
    sums.state.push_back(next += states[of_kind]);
    sums.gather.push_back(sums.gather.back() + gathers[of_kind]);
    sums.reduce.push_back(sums.reduce.back() + reductions[of_kind]);
    sums.copies.push_back(sums.copies.back() + copies[of_kind]);
  }
  return sums;
}

// As plans cut them: by what layers take, forward and backward.
const Forecaster::Cuts& Forecaster::cuts_of(std::uint32_t stages, std::uint32_t chunks) {
  const auto [entry, fresh] = cuts_.try_emplace({stages, chunks});
  if (fresh) {
    entry->second.first =
        plan::balance_layers({layer_costs()}, std::vector<std::size_t>(stages * chunks, 0));
    plan::PipelineShape pipeline;
    pipeline.stages = stages;
    pipeline.chunks = chunks;
    entry->second.repeats = repeats_of(entry->second.first, pipeline);
    pipeline.v_shaped = true;
    entry->second.repeats_in_v = repeats_of(entry->second.first, pipeline);
  }
  return entry->second;
}

std::vector<char> Forecaster::repeats_of(const std::vector<std::size_t>& first,
                                         const plan::PipelineShape& pipeline) const {
  const auto begin = [&](std::size_t part) {
    return kinds_.begin() + static_cast<std::ptrdiff_t>(first[part]);
  };
  std::vector<char> again(pipeline.stages, 1);
  again[0] = 0;
  for (std::uint32_t stage = 1; stage < pipeline.stages; ++stage) {
    for (std::uint32_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
      const std::uint32_t own = pipeline.part_of(stage, chunk);
      const std::uint32_t before = pipeline.part_of(stage - 1, chunk);
      if (!std::equal(begin(own), begin(own + 1), begin(before), begin(before + 1))) {
        again[stage] = 0;
      }
    }
  }
  return again;
}

// [layers] what each takes.
std::vector<std::uint64_t> Forecaster::layer_costs() {
  const plan::Holding all{true, true};
  std::vector<std::uint64_t> of_kinds;
  const std::size_t layers = std::max<std::size_t>(1, kinds_.size());
  for (std::size_t kind = 0; kind < firsts_.size(); ++kind) {
    double sum = 0;
    for (const PassKind pass : {forward, backward}) {
      if (pass == forward || workload_.training) {
        for (const workload::Operation& operation : outline_of(kind, pass, all).operations) {
          sum += durations_.of(operation).likely;
        }
      }
    }
    of_kinds.push_back(
        static_cast<std::uint64_t>(std::min(sum, end_of_times / static_cast<double>(layers))));
  }
  std::vector<std::uint64_t> costs;
  for (const std::size_t kind : kinds_) {
    costs.push_back(of_kinds[kind]);
  }
  return costs;
}

}  // namespace tessera::explore
