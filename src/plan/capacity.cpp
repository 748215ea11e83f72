#include "capacity.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/plan/outline.hpp"

namespace tessera::plan {

MemoryUse StageMemory::state(std::uint32_t micro_batches) const {
  MemoryUse use;
  use[MemoryPart::activations] = boundaries.of(micro_batches);
  use[MemoryPart::weights] = weights;
  use[MemoryPart::gradients] = gradients;
  use[MemoryPart::optimizer] = optimizer;
  return use;
}

StageMemory decide_memory(const machine::Tile& tile, bool has_dram,
                          const workload::Workload& workload, const Sharder& sharder,
                          const std::vector<LayerRange>& chunks, std::uint32_t in_flight) {
  const Offload offload = workload.training ? sharder.strategy().offload : Offload{};
  StageMemory memory;
  for (const LayerRange& layers : chunks) {
    for (std::size_t layer = layers.first; layer < layers.end; ++layer) {
      const LayerBytes bytes = sharder.bytes_of(workload.layers[layer]);
      memory.weights += bytes.weights;
      memory.gradients += bytes.gradients;
      memory.optimizer += bytes.optimizer;
      const bool leaves = offload.covers(layer - layers.first, layers.end - layers.first);
      const Bytes copied = leaves ? offload.share_of(bytes.stored) : Bytes();
      memory.offloaded_per_micro_batch += copied;
      memory.activations_per_micro_batch += bytes.stored - copied;
    }
  }
  // Passes are counted a chunk, and chunks are about equal.
  memory.activations_per_micro_batch =
      Bytes(divided_up(memory.activations_per_micro_batch.count(), chunks.size()));
  memory.offloaded_per_micro_batch =
      Bytes(divided_up(memory.offloaded_per_micro_batch.count(), chunks.size()));
  memory.in_flight = in_flight;
  const Holding holding = holding_of(tile, has_dram, memory.weight_state(), memory.activations());
  memory.holds_weights = holding.weights;
  memory.holds_activations = holding.activations;
  return memory;
}

PeakFinder::PeakFinder(const machine::Framework& framework, const workload::Workload& workload,
                       const Strategy& strategy)
    : framework_(framework),
      workload_(workload),
      strategy_(strategy),
      kind_of_(kinds_of_layers(workload, strategy)),
      ties_(ties_weights(workload)) {
  for (std::size_t layer = 0; layer < kind_of_.size(); ++layer) {
    if (kind_of_[layer] == kinds_.size()) {
      kinds_.push_back(memory_of_layer(workload, strategy, workload.layers[layer]));
    }
  }
}

TurnMemory PeakFinder::passes_of(const std::vector<LayerRange>& chunks) const {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const LayerRange& chunk : chunks) {
    ranges.emplace_back(chunk.first, chunk.end);
  }
  TurnMemory passes = memory_of_turns(strategy_, kinds_, kind_of_, ranges);
  if (framework_.pools_apart) {
    keep_pools(passes);
  }
  return passes;
}

MemoryUse PeakFinder::peak(std::uint32_t stage, const StageMemory& memory,
                           const TurnMemory& passes) const {
  const std::uint32_t groups = communicators_of(strategy_, stage, ties_);
  if (!strategy_.order.empty() || strategy_.v_shaped) {
    MemoryWalk walk(memory.state(strategy_.chunk_micro_batches()));
    for (const Turn& turn :
         turns_of(strategy_.passes(stage, workload_.training), strategy_.pipeline_shape(true),
                  stage, strategy_.overlap_passes)) {
      walk.take(turn.pass, passes.of(turn));
    }
    return with_framework(framework_, groups, walk.peak().use);
  }
  const StageForm form{strategy_.schedule, strategy_.degrees.pipeline, stage,
                       strategy_.micro_batches, memory.in_flight};
  return with_framework(
      framework_, groups,
      peak_in_closed_form(form, memory.state(strategy_.micro_batches),
                          memory.activations_per_micro_batch, mean_apart(passes.chunks),
                          largest_passes(passes.chunks)));
}

MemoryWalk::Peak peak_over(const machine::Machine& machine, const Plan& plan, std::uint32_t stage,
                           const std::vector<Pass>& passes) {
  const Stage& of = plan.stages[stage];
  StageMemory memory = of.memory;
  memory.boundaries.under_way = divided_up(most_in_flight(passes), of.chunks.size());
  MemoryWalk walk(memory.state(micro_batches_of_chunk(passes, plan.strategy.chunks)));
  const Strategy& strategy = plan.strategy;
  for (const Turn& turn :
       turns_of(passes, strategy.pipeline_shape(true), stage, strategy.overlap_passes)) {
    walk.take(turn.pass, of.pass_memory.of(turn));
  }
  MemoryWalk::Peak peak = walk.peak();
  peak.use = with_framework(machine.framework, of.communicators, peak.use);
  return peak;
}

namespace {

// Visits what each tile keeps in its channel: (stage, channel, bytes).
template <class Visit>
void visit_kept(const machine::Machine& machine, const Plan& plan, Visit visit) {
  for (std::uint32_t number = 0; number < plan.strategy.degrees.tiles(); ++number) {
    const Role role = plan.placement.role(number);
    const StageMemory& memory = plan.stages[role.stage].memory;
    const EntityId node = plan.placement.tile(role);
    const Bytes bytes =
        machine.tile_of(node).streams_nothing() ? memory.peak.total() : memory.in_dram();
    if (bytes > Bytes(0)) {
      visit(role.stage, machine.channel_of[node.value()], bytes);
    }
  }
}

void refuse_without_dram(const machine::Machine& machine, const Plan& plan) {
  for (std::uint32_t number = 0; number < plan.strategy.degrees.tiles(); ++number) {
    const Role role = plan.placement.role(number);
    const StageMemory& memory = plan.stages[role.stage].memory;
    const Bytes sram = machine.tile_of(plan.placement.tile(role)).sram;
    if (sram > Bytes(0) && memory.total() > sram) {
      throw ConfigError(
          "stage " + std::to_string(role.stage) + " needs " + to_short_string(memory.total()) +
          " a tile (" + to_short_string(memory.weight_state()) +
          " weights with gradients and optimizer state, " + to_short_string(memory.activations()) +
          " activations of " + std::to_string(memory.in_flight) + " micro-batches); its SRAM has " +
          to_short_string(sram) +
          " and the machine has no DRAM (capacity: ignore runs it all the same)");
    }
  }
}

}  // namespace

BytesByChannel bytes_in_channels(const machine::Machine& machine, const Plan& plan) {
  BytesByChannel kept;
  if (!machine.channels.empty()) {
    visit_kept(machine, plan,
               [&](std::uint32_t, std::uint32_t channel, Bytes bytes) { kept[channel] += bytes; });
  }
  return kept;
}

namespace {

void check_host(const machine::Machine& machine, const Plan& plan) {
  if (machine.host.memory == Bytes(0)) {
    return;
  }
  const std::vector<std::uint32_t> host_of = machine::hosts_of(machine);
  std::vector<Bytes> asked(std::ranges::max(host_of) + 1);
  std::vector<std::uint32_t> stage_of(asked.size());
  for (std::uint32_t number = 0; number < plan.strategy.degrees.tiles(); ++number) {
    const Role role = plan.placement.role(number);
    const std::uint32_t host = host_of[plan.placement.tile(role).value()];
    asked[host] += plan.stages[role.stage].memory.offloaded();
    stage_of[host] = role.stage;
  }
  for (std::size_t host = 0; host < asked.size(); ++host) {
    if (asked[host] > machine.host.memory) {
      throw ConfigError("offload: a host would hold " + to_short_string(asked[host]) +
                        " of activations (of tiles of stage " + std::to_string(stage_of[host]) +
                        " among others), and has " + to_short_string(machine.host.memory) +
                        " (capacity: ignore runs it all the same)");
    }
  }
}

}  // namespace

void check_capacity(const machine::Machine& machine, const Plan& plan) {
  check_host(machine, plan);
  if (machine.channels.empty()) {
    refuse_without_dram(machine, plan);
    return;
  }
  const BytesByChannel asked = bytes_in_channels(machine, plan);
  std::map<std::uint32_t, std::uint32_t> worst_stage;
  visit_kept(machine, plan, [&](std::uint32_t stage, std::uint32_t channel, Bytes) {
    worst_stage[channel] = stage;
  });
  for (const auto& [channel, bytes] : asked) {
    const Bytes capacity = machine.channels[channel].capacity;
    if (capacity > Bytes(0) && bytes > capacity) {
      throw ConfigError(
          "DRAM channel " + std::to_string(channel) + " at " +
          machine.topology->node_name(machine.channels[channel].node) + " would hold " +
          to_short_string(bytes) + ", " + to_short_string(bytes - capacity) + " more than its " +
          to_short_string(capacity) + " (tiles of stage " + std::to_string(worst_stage[channel]) +
          " among others; capacity: ignore runs it all the same)");
    }
  }
}

std::string note_of_peaks(const machine::Machine& machine, const Plan& plan) {
  struct Use {
    Bytes asked;
    Bytes sram;
    std::uint32_t stage = 0;
  };
  std::map<std::uint32_t, Use> uses;  // by channel
  if (machine.channels.empty() || !plan.strategy.check_capacity) {
    return "";
  }
  for (std::uint32_t number = 0; number < plan.strategy.degrees.tiles(); ++number) {
    const Role role = plan.placement.role(number);
    const EntityId node = plan.placement.tile(role);
    const machine::Tile& tile = machine.tile_of(node);
    if (tile.streams_nothing() || tile.sram == Bytes(0)) {
      continue;  // is held against its peak, or has room for all
    }
    Use& use = uses[machine.channel_of[node.value()]];
    use.asked += plan.stages[role.stage].memory.peak.total();
    use.sram += tile.sram;
    use.stage = role.stage;
  }
  for (const auto& [channel, use] : uses) {
    const Bytes capacity = machine.channels[channel].capacity;
    if (capacity > Bytes(0) && use.asked > capacity + use.sram) {
      return "DRAM channel " + std::to_string(channel) + " at " +
             machine.topology->node_name(machine.channels[channel].node) + " has " +
             to_short_string(capacity) + ", but its tiles (of stage " + std::to_string(use.stage) +
             " among others) would hold " + to_short_string(use.asked) +
             " at their peak: where operands are in SRAM, the check of capacity covers only data "
             "that persists between passes, not the temporary data of a pass (tile.operands: dram "
             "checks both)";
    }
  }
  return "";
}

}  // namespace tessera::plan
