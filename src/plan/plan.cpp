#include "tessera/plan/plan.hpp"

#include <algorithm>

#include "capacity.hpp"
#include "program_builder.hpp"
#include "tessera/plan/schedule.hpp"

namespace tessera::plan {
namespace {

struct LayerTimes {
  SimTime forward;
  SimTime backward;
};

LayerTimes times_of(const workload::Layer& layer, const Cutter& cutter, bool recompute,
                    const OperatorTime& operator_time) {
  LayerTimes times;
  for (const workload::Operator& op : layer.operators) {
    const ShardedCost forward = cutter.forward(op);
    const ShardedCost backward = cutter.backward(op);
    times.forward += operator_time(forward.flops, forward.sram_bytes);
    times.backward += operator_time(backward.flops, backward.sram_bytes);
  }
  if (recompute) {
    times.backward += times.forward;
  }
  return times;
}

std::vector<std::size_t> cut_layers(const std::vector<LayerTimes>& times, std::size_t stages) {
  std::vector<std::uint64_t> costs;
  for (const LayerTimes& layer : times) {
    costs.push_back(static_cast<std::uint64_t>((layer.forward + layer.backward).ps()));
  }
  return balance_layers(costs, stages);
}

std::uint64_t instructions_of(const Program& program) {
  std::uint64_t count = 0;
  for (const ScheduleEntry& entry : program.schedule) {
    count += program.instructions(entry.phase).size();
  }
  return count;
}

}  // namespace

SimTime Plan::ideal_time() const {
  SimTime slowest;
  SimTime sum;
  for (const Stage& stage : stages) {
    const SimTime time = stage.forward_compute + stage.backward_compute;
    slowest = std::max(slowest, time);
    sum += time;
  }
  return slowest * (std::int64_t{strategy.micro_batches} - 1) + sum;
}

std::uint64_t Plan::instructions() const {
  std::uint64_t count = 0;
  for (const Stage& stage : stages) {
    count += instructions_of(stage.program) * strategy.degrees.data * strategy.degrees.tensor;
  }
  return count;
}

std::size_t Plan::resident_bytes() const {
  std::size_t bytes = placement.resident_bytes();
  for (const Stage& stage : stages) {
    bytes += sizeof(Stage) + stage.program.schedule.capacity() * sizeof(ScheduleEntry);
    for (const auto& code : stage.program.code) {
      bytes += code.capacity() * sizeof(Instruction);
    }
  }
  return bytes;
}

Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperatorTime& operator_time) {
  Plan plan;
  plan.strategy = strategy;
  plan.data_type = workload.data_type;
  plan.tensor_algorithm = collective::algorithms().at(strategy.tensor_algorithm)();
  plan.data_algorithm = collective::algorithms().at(strategy.data_algorithm)();

  const Cutter cutter(workload, plan.strategy);
  std::vector<LayerTimes> times;
  for (const workload::Layer& layer : workload.layers) {
    times.push_back(times_of(layer, cutter, strategy.recompute, operator_time));
  }
  const std::vector<std::size_t> cuts = strategy.placement.first_layers.empty()
                                            ? cut_layers(times, strategy.degrees.pipeline)
                                            : strategy.placement.first_layers;
  NameTable names;
  for (std::uint32_t number = 0; number < strategy.degrees.pipeline; ++number) {
    Stage stage;
    stage.first_layer = cuts[number];
    stage.end_layer = cuts[number + 1];
    for (std::size_t layer = stage.first_layer; layer < stage.end_layer; ++layer) {
      stage.forward_compute += times[layer].forward;
      stage.backward_compute += times[layer].backward;
    }
    const std::uint32_t in_flight = micro_batches_in_flight(
        schedules()
            .at(strategy.schedule)
            .entries(number, strategy.degrees.pipeline, strategy.micro_batches));
    stage.memory =
        decide_memory(machine, workload, cutter, stage.first_layer, stage.end_layer, in_flight);
    stage.program = build_program(workload, plan.strategy, number, stage, names);
    plan.stages.push_back(std::move(stage));
  }
  plan.names = names.take();
  plan.placement = placements().at(strategy.layout)(machine, strategy.placement,
                                                    [&] { return traffic_of(plan); });
  if (strategy.check_capacity) {
    check_capacity(machine, plan);
  }
  return plan;
}

}  // namespace tessera::plan
