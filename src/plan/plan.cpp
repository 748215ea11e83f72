#include "tessera/plan/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "capacity.hpp"
#include "collective_time.hpp"
#include "program_builder.hpp"
#include "stages/stage_tiles.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/outline.hpp"
#include "tessera/plan/sharder.hpp"
#include "tessera/plan/traffic.hpp"

namespace tessera::plan {
namespace {

struct LayerTimes {
  SimTime forward;
  SimTime backward;
};

LayerTimes times_of(const workload::Workload& workload, const workload::Layer& layer,
                    const Sharder& sharder, const machine::Tile& tile,
                    const OperationTime& operation_time) {
  LayerTimes times;
  for (const workload::Operator& op : layer.operators) {
    const SimTime forward = operation_time(tile, sharder.forward(op));
    times.forward += forward;
    if (!workload.training) {
      continue;
    }
    times.backward += operation_time(tile, sharder.input_gradient(op));
    const workload::Operation weights = sharder.weight_gradient(op);
    times.backward += weights.flops > Flops(0) ? operation_time(tile, weights) : SimTime::zero();
    if (sharder.computes_again(op)) {
      times.backward += operation_time(tile, sharder.forward_again(op));
    }
  }
  return times;
}

// Times of all layers on stages of one kind, whose tiles wait for the slowest of them.
using KindTimes = std::vector<LayerTimes>;

// First layers of the parts of the model, and the end. The parts of a stage are of one kind; of two
// copies of the model the first counts.
std::vector<std::size_t> cut_layers(const std::vector<KindTimes>& times,
                                    const std::vector<std::size_t>& kind_of_stage,
                                    const PipelineShape& shape) {
  std::vector<std::vector<std::uint64_t>> costs;
  for (const KindTimes& kind : times) {
    std::vector<std::uint64_t>& own = costs.emplace_back();
    for (const LayerTimes& layer : kind) {
      own.push_back(static_cast<std::uint64_t>((layer.forward + layer.backward).ps()));
    }
  }
  std::vector<std::size_t> kind_of;
  for (std::uint32_t part = 0; part < shape.model_parts(); ++part) {
    kind_of.push_back(kind_of_stage[shape.stage_of(part)]);
  }
  return balance_layers(costs, kind_of);
}

// Stages that hold weights which layers share: that of the first layer, and those with layers that
// share its weights. `cuts`: as cut_layers gives them.
std::vector<std::uint32_t> tied_stages(const workload::Workload& workload,
                                       const std::vector<std::size_t>& cuts,
                                       const PipelineShape& shape) {
  std::vector<std::uint32_t> tied{0};
  for (std::uint32_t part = 0; part < shape.model_parts(); ++part) {
    for (std::size_t layer = cuts[part]; layer < cuts[part + 1]; ++layer) {
      if (workload.layers[layer].shared_parameters() > 0) {
        tied.push_back(shape.stage_of(part));
      }
    }
  }
  std::sort(tied.begin(), tied.end());
  tied.erase(std::unique(tied.begin(), tied.end()), tied.end());
  return tied;
}

std::uint64_t instructions_of(const Program& program) {
  std::uint64_t count = 0;
  for (const ScheduleEntry& entry : program.schedule) {
    count += program.instructions(entry).size();
  }
  return count;
}

// Tiles of a group of one stage that share the busiest of their DRAM channels; `size` roles from
// `first` on.
std::uint32_t tiles_a_channel(const machine::Machine& machine, const Placement& placement,
                              MemorySharing sharing, std::uint32_t first, std::uint32_t size) {
  if (machine.channels.empty() || sharing == MemorySharing::none) {
    return 1;
  }
  if (sharing == MemorySharing::all) {
    return size;
  }
  std::map<std::uint32_t, std::uint32_t> tiles;
  std::uint32_t most = 1;
  for (std::uint32_t role = first; role < first + size; ++role) {
    const EntityId tile = placement.tile(role);
    most = std::max(most, ++tiles[machine.channel_of[tile.value()]]);
  }
  return most;
}

}  // namespace

collective::Step Plan::step_of(const collective::Algorithm& algorithm, const GroupShape& shape,
                               collective::Kind kind, collective::Member member, Bytes bytes,
                               std::uint32_t step) {
  const bool alone = shape.channels == 1;  // spares most collectives the divisions
  const std::uint32_t channel = alone ? 0 : step % shape.channels;
  const std::uint32_t own_step = alone ? step : step / shape.channels;
  const std::uint32_t part = shape.part_of(member);
  const std::uint32_t first = shape.among_leaders ? 0 : shape.leader(part);
  const std::uint32_t size = shape.among_leaders ? shape.parts : shape.leader(part + 1) - first;
  if (shape.parts > 1 &&
      ((shape.among_leaders && !shape.leads(member)) || own_step >= algorithm.steps(kind, size))) {
    return {};  // of the others, or of a part that takes more steps
  }
  const std::uint32_t number = shape.among_leaders ? part : member - first;
  collective::Step now = algorithm.step(
      kind, size, shape.turned(number, channel),
      alone ? bytes : collective::chunk_bytes(bytes, shape.channels, channel), own_step);
  const auto in_group = [&](collective::Member other) {
    return other == collective::nobody ? other
           : shape.among_leaders       ? shape.leader(other)
                                       : first + shape.turned_back(other, channel);
  };
  now.send_to = in_group(now.send_to);
  now.receive_from = in_group(now.receive_from);
  return now;
}

collective::Member Plan::member_of(Group number, std::uint32_t role) const {
  if (number == Group::tied) {
    const std::uint32_t stage = role / stage_tiles();
    if (strategy.mirrored) {
      return stage < mirror_of(stage) ? 0 : 1;
    }
    const auto found = std::find(tied_stages.begin(), tied_stages.end(), stage);
    ensure(found != tied_stages.end(), "a stage without the tied weights");
    return static_cast<collective::Member>(found - tied_stages.begin());
  }
  return group(number).member(role % stage_tiles());
}

std::uint32_t Plan::role_of(Group number, collective::Member member, std::uint32_t role) const {
  const std::uint32_t place = role % stage_tiles();
  if (number != Group::tied) {
    return role - place + group(number).place_of(member, place);
  }
  const std::uint32_t own = role / stage_tiles();
  std::uint32_t stage = 0;
  if (strategy.mirrored) {
    stage = member_of(number, role) == member ? own : mirror_of(own);
  } else {
    stage = tied_stages[member];
  }
  return stage * stage_tiles() + place;
}

std::vector<GroupShape> standard_groups(const Strategy& strategy) {
  const std::uint32_t tensor = strategy.degrees.tensor;
  std::vector<GroupShape> groups(static_cast<std::size_t>(Group::first_cut));
  const auto shape = [&](Group group) -> GroupShape& {
    return groups[static_cast<std::size_t>(group)];
  };
  shape(Group::tensor) = {tensor, 1};
  shape(Group::data) = {strategy.degrees.data, tensor};
  shape(Group::context) = {strategy.context, tensor};
  shape(Group::expert) = {strategy.expert, tensor};
  shape(Group::expert_data) = {strategy.degrees.data / strategy.expert, tensor * strategy.expert};
  const std::uint32_t sharing = strategy.sharing();
  const std::uint32_t copies = strategy.degrees.data / sharing;
  const bool near = strategy.shard_members == ShardMembers::near;
  shape(Group::shard) = {sharing, near ? tensor : tensor * copies};
  shape(Group::copies) = {copies, near ? tensor * sharing : tensor};
  return groups;
}

std::uint32_t Plan::simulated_tiles() const {
  switch (strategy.aggregation) {
    case Aggregation::none:
      return strategy.degrees.data * strategy.degrees.tensor;
    case Aggregation::tensor:
      return strategy.degrees.data;
    case Aggregation::stage:
      return 1;
  }
  throw InternalError("an aggregation outside its list");
}

bool Plan::has_mixed_stages() const {
  return std::any_of(stages.begin(), stages.end(),
                     [](const Stage& stage) { return stage.tile_types.size() > 1; });
}

std::uint64_t Plan::instructions() const {
  std::uint64_t count = 0;
  for (const Stage& stage : stages) {
    count += instructions_of(stage.program) * simulated_tiles();
  }
  return count;
}

std::size_t Plan::resident_bytes() const {
  std::size_t bytes =
      placement.resident_bytes() + operations.capacity() * sizeof(workload::Operation);
  for (const Stage& stage : stages) {
    bytes += sizeof(Stage) + stage.program.schedule.capacity() * sizeof(ScheduleEntry);
    for (const auto& piece : stage.program.pieces) {
      bytes += piece.capacity() * sizeof(Instruction);
    }
  }
  return bytes;
}

namespace {

// What of a plan does not depend on where it lies.
class PlanMaker {
 public:
  // All must outlive the maker.
  PlanMaker(const machine::Machine& machine, const workload::Workload& workload,
            const OperationTime& operation_time, MemorySharing sharing)
      : machine_(machine),
        workload_(workload),
        operation_time_(operation_time),
        sharing_(sharing) {}

  // A plan without placement and stages.
  Plan begin(const Strategy& strategy) const {
    Plan plan;
    plan.strategy = strategy;
    plan.data_type = workload_.data_type;
    plan.training = workload_.training;
    plan.tensor_algorithm = collective::algorithms().at(strategy.tensor_algorithm)({});
    plan.data_algorithm = collective::algorithms().at(strategy.data_algorithm)({});
    plan.groups = standard_groups(strategy);
    return plan;
  }

  // Cuts the layers and writes the programs, for groups as they stand in the plan.
  void add_stages(GroupEstimates estimates, Plan& plan) const {
    estimates.host = machine_.host;
    const Strategy& strategy = plan.strategy;
    const Sharder sharder(workload_, strategy);
    const std::uint32_t stages = strategy.degrees.pipeline;
    const PipelineShape shape = strategy.pipeline_shape(workload_.training);
    std::vector<std::vector<std::uint16_t>> kinds;  // types of tiles
    std::vector<std::size_t> kind_of;               // [stages]
    for (std::uint32_t number = 0; number < stages; ++number) {
      const std::vector<std::uint16_t> types = types_of_stage(machine_, plan, number);
      const auto found = std::find(kinds.begin(), kinds.end(), types);
      kind_of.push_back(static_cast<std::size_t>(found - kinds.begin()));
      if (found == kinds.end()) {
        kinds.push_back(types);
      }
    }
    std::vector<KindTimes> times;
    for (const std::vector<std::uint16_t>& types : kinds) {
      times.push_back(times_of_kind(types, sharder));
    }
    const std::vector<std::size_t> cuts = strategy.placement.first_layers.empty()
                                              ? cut_layers(times, kind_of, shape)
                                              : strategy.placement.first_layers;
    const Strategy whole = strategy.whole();
    const PeakFinder peaks(machine_.framework, workload_, whole);
    Tables tables;
    plan.tied_stages = tied_stages(workload_, cuts, shape);
    plan.groups[static_cast<std::size_t>(Group::tied)].size =
        strategy.mirrored ? 2 : static_cast<std::uint32_t>(plan.tied_stages.size());
    tables.groups = plan.groups;
    tables.tied_stages = plan.tied_stages;
    for (std::uint32_t number = 0; number < stages; ++number) {
      Stage stage;
      stage.tile_types = kinds[kind_of[number]];
      const machine::Tile tile = least_tile(machine_, stage.tile_types);
      for (std::uint32_t chunk = 0; chunk < strategy.chunks; ++chunk) {
        const std::uint32_t part = shape.model_part(shape.part_of(number, chunk));
        stage.chunks.push_back({cuts[part], cuts[part + 1]});
      }
      stage.memory =
          decide_memory(tile, !machine_.channels.empty(), workload_, sharder, stage.chunks,
                        most_in_flight(whole.passes(number, workload_.training)));
      std::vector<std::pair<std::size_t, std::size_t>> ranges;
      for (const LayerRange& chunk : stage.chunks) {
        ranges.emplace_back(chunk.first, chunk.end);
      }
      stage.memory.boundaries =
          boundary_memory(workload_, whole, number, ranges, stage.memory.in_flight);
      stage.pass_memory = peaks.passes_of(stage.chunks);
      stage.memory.peak = peaks.peak(number, stage.memory, stage.pass_memory);
      stage.communicators = communicators_of(strategy, number, ties_weights(workload_));
      if (strategy.aggregation != Aggregation::none) {
        count_sharers(plan, number, stage.memory);
      }
      stage.program =
          build_program(workload_, strategy, number, stage, tile.sram, estimates, tables);
      plan.stages.push_back(std::move(stage));
    }
    plan.names = tables.names.take();
    plan.operations = tables.operations.take();
    plan.groups = tables.groups;
  }

  // What roles send to each other, wherever they will lie.
  RoleTrafficList traffic(Strategy strategy) const {
    strategy.aggregation = Aggregation::none;
    Plan draft = begin(strategy);
    add_stages({}, draft);
    return traffic_of(draft);
  }

 private:
  // All groups of a stage have its program, which is that of the one whose tiles share most.
  void count_sharers(const Plan& plan, std::uint32_t number, StageMemory& memory) const {
    const std::uint32_t roles = plan.placement.stage_tiles();
    const std::uint32_t groups = plan.simulated_tiles();
    memory.fewest_tiles_a_channel = roles;
    for (std::uint32_t group = 0; group < groups; ++group) {
      const std::uint32_t sharers =
          tiles_a_channel(machine_, plan.placement, sharing_,
                          number * roles + group * (roles / groups), roles / groups);
      memory.tiles_a_channel = std::max(memory.tiles_a_channel, sharers);
      memory.fewest_tiles_a_channel = std::min(memory.fewest_tiles_a_channel, sharers);
    }
  }

  KindTimes times_of_kind(const std::vector<std::uint16_t>& types, const Sharder& sharder) const {
    KindTimes times;
    for (const workload::Layer& layer : workload_.layers) {
      LayerTimes& slowest = times.emplace_back();
      for (const std::uint16_t type : types) {
        const LayerTimes own =
            times_of(workload_, layer, sharder, machine_.tiles()[type], operation_time_);
        slowest.forward = std::max(slowest.forward, own.forward);
        slowest.backward = std::max(slowest.backward, own.backward);
      }
    }
    return times;
  }

  const machine::Machine& machine_;
  const workload::Workload& workload_;
  const OperationTime& operation_time_;
  MemorySharing sharing_;
};

}  // namespace

Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperationTime& operation_time,
               const Transfers& transfers, Sharing sharing) {
  const std::optional<workload::Workload> busiest = workload::of_busiest(workload, strategy.expert);
  const PlanMaker maker(machine, busiest ? *busiest : workload, operation_time, transfers.memory);
  Plan plan = maker.begin(strategy);
  plan.placement = placements().at(strategy.layout)(machine, strategy.placement,
                                                    [&] { return maker.traffic(strategy); });
  check_types(machine, plan);
  for (GroupShape& shape : plan.groups) {
    shape.channels = channels_of(shape, plan.placement, *machine.topology);
  }
  CollectiveClock clock(plan, transfers, *machine.topology, sharing);
  const std::uint32_t stood_for = plan.placement.stage_tiles() / plan.simulated_tiles();
  maker.add_stages(
      {transfers.collective,
       [&](std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
           Bytes bytes,
           Occasion occasion) { return clock.time(stage, group, shape, kind, bytes, occasion); },
       [&](std::uint32_t stage, std::uint32_t other, const GroupShape& shape) {
         return clock.boundary_share(stage, other, stood_for, shape);
       },
       [&](std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind) {
         return clock.group_share(stage, group, shape, kind);
       },
       [&](std::uint32_t stage, Group group, const GroupShape& shape, collective::Kind kind,
           Bytes bytes, Occasion occasion) {
         return clock.on_links(stage, group, shape, kind, bytes, occasion);
       }},
      plan);
  plan.library_use = clock.library_use();
  if (strategy.check_capacity) {
    check_capacity(machine, plan);
  }
  return plan;
}

Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperationTime& operation_time,
               const Transfers& transfers) {
  return make_plan(machine, workload, strategy, operation_time, transfers, Sharing::links);
}

}  // namespace tessera::plan
