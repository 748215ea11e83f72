#include "search/forecast/forecast.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::explore {
namespace {

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

bool looks_for_its_place(const std::string& layout) {
  return layout == "optimized" || layout == "given";
}

}  // namespace

Forecaster::Forecaster(const sim::Experiment& experiment, const workload::Workload& workload,
                       const plan::Strategy& base)
    : experiment_(experiment),
      workload_(workload),
      base_(base),
      finder_(experiment.machine, *experiment.network, experiment.memory.get()),
      durations_(experiment.machine, *experiment.compute),
      kinds_(plan::kinds_of_layers(workload, base)),
      firsts_(first_of_kinds(kinds_)),
      ties_(plan::ties_weights(workload)),
      least_tile_(tile_with_least_sram(experiment.machine)),
      checks_peaks_(base.check_capacity && !experiment.machine.channels.empty() &&
                    least_tile_.sram > Bytes(0) && !least_tile_.streams_nothing()),
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
  const CutKey cut{
      strategy_.degrees.tensor,    strategy_.context,      strategy_.expert,
      strategy_.sequence_parallel, strategy_.micro_batch,  strategy_.recompute,
      strategy_.overlap_tensor,    strategy_.async_tensor, strategy_.degrees.pipeline > 1};
  const SharingKey sharing{strategy_.zero, strategy_.expert, strategy_.shard,
                           strategy_.shard_members};
  const bool other_degrees = !any_ || degrees != degrees_key_;
  const bool other_cut = !any_ || cut != cut_key_;
  if (other_degrees) {
    layouts_.clear();
  }
  if (other_cut) {
    outlines_.clear();
    cuts_.clear();
    passes_.clear();
    layer_memory_ = {};
    plan::Strategy shares_nothing = strategy_;
    shares_nothing.zero = 0;
    tied_gradients_ = ties_ ? plan::Sharder(workload_, shares_nothing).tied_gradients() : Bytes();
  }
  for (auto& [name, layout] : layouts_) {
    if (other_cut) {
      layout.costs = {};
    }
    if (other_cut || sharing != sharing_key_) {
      layout.sharing = {};
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
  const std::vector<plan::StageMemory>& memory = memory_of_stages(candidate, sharing, cuts);
  for (const plan::StageMemory& of : memory) {
    forecast.memory = std::max(forecast.memory, of.peak.total());
  }
  if (strategy_.overlap_passes && !std::ranges::all_of(memory, [](const plan::StageMemory& of) {
        return of.holds_weights && of.holds_activations;
      })) {
    forecast.placed = false;
    forecast.objection = "passes that take turns cannot stream operands";
    return forecast;
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
    const bool again = repeats(cuts, stage) && is_kept_alike(layout, memory, stage);
    times.push_back(again ? times.back() : times_of(layout, cuts.first, stage, memory[stage]));
    events += times.back().events * strategy_.degrees.data * strategy_.degrees.tensor;
  }
  forecast.events = events * strategy_.micro_batches;
  forecast.iteration = iteration(layout, times);
  return forecast;
}

}  // namespace tessera::explore
