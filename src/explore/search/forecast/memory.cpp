// What stages keep, and where it is tightest.
#include <algorithm>
#include <utility>

#include "search/forecast/forecast.hpp"
#include "search/running_sums.hpp"

namespace tessera::explore {
namespace {

using plan::LayerState;

}  // namespace

// plan::most_in_flight of the schedules, in closed form but for those in a V.
std::uint32_t Forecaster::in_flight(const Candidate& candidate, std::uint32_t stage) {
  if (strategy_.v_shaped) {
    return stage_walks()[stage].in_flight;
  }
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

// The same in all layouts, of which one follows the other.
const std::vector<plan::StageMemory>& Forecaster::memory_of_stages(const Candidate& candidate,
                                                                   const SharingSums& sharing,
                                                                   const Cuts& cuts) {
  Candidate anywhere = candidate;
  anywhere.layout.clear();
  if (!memory_.empty() && anywhere == remembered_) {
    return memory_;
  }
  const std::vector<StagePasses>& passes = passes_of(cuts);
  memory_.clear();
  for (std::uint32_t stage = 0; stage < strategy_.degrees.pipeline; ++stage) {
    plan::StageMemory& of = memory_.emplace_back(
        repeats(cuts, stage) ? memory_.back() : memory_of(sharing, cuts.first, stage));
    of.in_flight = in_flight(candidate, stage);
    of.boundaries = boundaries_of(cuts.first, stage, of.in_flight);
    of.peak = peak_of(passes[stage], stage, of);
    const plan::Holding holding = plan::holding_of(
        least_tile_, !experiment_.machine.channels.empty(), of.weight_state(), of.activations());
    of.holds_weights = holding.weights;
    of.holds_activations = holding.activations;
  }
  remembered_ = std::move(anywhere);
  return memory_;
}

plan::StageMemory Forecaster::memory_of(const SharingSums& sharing,
                                        const std::vector<std::size_t>& cuts,
                                        std::uint32_t stage) const {
  plan::StageMemory memory;
  Bytes stored;
  Bytes offloaded;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::uint32_t part = shape().part_of(stage, chunk);
    const LayerState state = between(sharing.state, cuts[part], cuts[part + 1]);
    memory.weights += state.weights;
    memory.gradients += state.gradients;
    memory.optimizer += state.optimizer;
    stored += state.stored;
    for (std::size_t layer = cuts[part]; layer < cuts[part + 1]; ++layer) {
      const plan::Offload& offload = strategy_.offload;
      if (!offload.covers(layer - cuts[part], cuts[part + 1] - cuts[part])) {
        break;
      }
      const LayerState own = between(sharing.state, layer, layer + 1);
      const Bytes copied = offload.share_of(own.stored);
      offloaded += copied;
      stored = stored - copied;
    }
  }
  memory.activations_per_micro_batch =
      Bytes((stored.count() + strategy_.chunks - 1) / strategy_.chunks);
  memory.offloaded_per_micro_batch =
      Bytes((offloaded.count() + strategy_.chunks - 1) / strategy_.chunks);
  return memory;
}

plan::BoundaryMemory Forecaster::boundaries_of(const std::vector<std::size_t>& cuts,
                                               std::uint32_t stage, std::uint32_t in_flight) const {
  std::vector<std::pair<std::size_t, std::size_t>> chunks;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::uint32_t part = shape().model_part(shape().part_of(stage, chunk));
    chunks.emplace_back(cuts[part], cuts[part + 1]);
  }
  return plan::boundary_memory(workload_, strategy_, stage, chunks, in_flight);
}

const std::vector<plan::LayerMemory>& Forecaster::layer_memory() {
  std::vector<plan::LayerMemory>& of_kinds = layer_memory_[beside_first()];
  if (of_kinds.empty()) {
    for (const std::size_t layer : firsts_) {
      of_kinds.push_back(plan::memory_of_layer(workload_, strategy_, workload_.layers[layer]));
    }
  }
  return of_kinds;
}

Forecaster::StagePasses Forecaster::passes_of_stage(const std::vector<std::size_t>& cuts,
                                                    std::uint32_t stage) {
  std::vector<std::pair<std::size_t, std::size_t>> chunks;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::uint32_t part = shape().part_of(stage, chunk);
    chunks.emplace_back(cuts[part], cuts[part + 1]);
  }
  StagePasses passes;
  passes.turns = plan::memory_of_turns(strategy_, layer_memory(), kinds_, chunks);
  if (experiment_.machine.framework.pools_apart) {
    plan::keep_pools(passes.turns);
  }
  passes.largest = plan::largest_passes(passes.turns.chunks);
  passes.apart = plan::mean_apart(passes.turns.chunks);
  if (!strategy_.v_shaped) {
    passes.turns = {};
  }
  return passes;
}

// Shared by candidates that differ in schedules, micro-batches, layouts and replicas.
const std::vector<Forecaster::StagePasses>& Forecaster::passes_of(const Cuts& cuts) {
  const bool replicas = strategy_.degrees.data > 1;
  const bool scatters = replicas && strategy_.zero >= 2;
  const std::uint32_t stages = strategy_.degrees.pipeline;
  const auto [entry, fresh] = passes_.try_emplace(
      {stages, strategy_.chunks, strategy_.v_shaped, replicas && strategy_.zero == 3, scatters,
       scatters && strategy_.overlap_gradients, strategy_.has_units(), strategy_.overlap_passes});
  std::vector<StagePasses>& passes = entry->second;
  for (std::uint32_t stage = 0; fresh && stage < stages; ++stage) {
    passes.push_back(repeats(cuts, stage) ? passes.back() : passes_of_stage(cuts.first, stage));
  }
  return passes;
}

plan::MemoryUse Forecaster::peak_of(const StagePasses& passes, std::uint32_t stage,
                                    const plan::StageMemory& memory) {
  const std::uint32_t communicators = plan::communicators_of(strategy_, stage, ties_);
  if (strategy_.v_shaped) {
    const StageWalk& walk = stage_walks()[stage];
    return plan::with_framework(
        experiment_.machine.framework, communicators,
        walk.peak(memory.state(strategy_.chunk_micro_batches()), passes.turns));
  }
  const plan::StageForm form{strategy_.schedule, strategy_.degrees.pipeline, stage,
                             strategy_.micro_batches, memory.in_flight};
  return plan::with_framework(
      experiment_.machine.framework, communicators,
      plan::peak_in_closed_form(form, memory.state(strategy_.micro_batches),
                                memory.activations_per_micro_batch, passes.apart, passes.largest));
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
    return least_tile_.streams_nothing() ? memory[stage].peak.total() : memory[stage].in_dram();
  };
  for (const ChannelClass& channel : layout.ways->channels()) {
    Need need{channel.tiles.front().first, 0, {}, channel.capacity, channel.first};
    for (const auto& [stage, count] : channel.tiles) {
      need.asked += kept(stage) * count;
      need.tiles += count;
      need.stage = kept(stage) > kept(need.stage) ? stage : need.stage;
    }
    take(need, memory, forecast);
    if (checks_peaks_) {
      take(need_at_peaks(channel, memory), memory, forecast);
    }
  }
}

// As plan::note_of_peaks has it.
Need Forecaster::need_at_peaks(const ChannelClass& channel,
                               const std::vector<plan::StageMemory>& memory) const {
  Need need{channel.tiles.front().first, 0, {}, channel.capacity, channel.first, true};
  for (const auto& [stage, count] : channel.tiles) {
    const Bytes peak = memory[stage].peak.total();
    need.asked += peak * count;
    need.tiles += count;
    need.stage = peak > memory[need.stage].peak.total() ? stage : need.stage;
  }
  need.capacity += channel.capacity > Bytes(0) ? least_tile_.sram * need.tiles : Bytes(0);
  return need;
}

void Forecaster::take(const Need& need, const std::vector<plan::StageMemory>& memory,
                      Forecast& forecast) {
  if (need.capacity > Bytes(0) && need.share() > forecast.need.share()) {
    forecast.need = need;
    forecast.of_stage = memory[need.stage];
  }
}

}  // namespace tessera::explore
