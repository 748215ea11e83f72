#include "graph/node_times.hpp"

#include "tessera/collective/conventions.hpp"

namespace tessera::executor {
namespace {

// Where it runs at its full speed.
SimTime full_speed_time(const GraphSetup& setup, EntityId self, const Task& task,
                        const workload::NodeShape* shape, bool beside) {
  const GraphOptions& options = setup.work.options;
  if (const auto operation = operation_of(options, task, shape)) {
    return collective::cut_to(options.collectives.conventions->tick(),
                              setup.compute_time(self, *operation, beside));
  }
  return task.recorded_ps >= 0 ? SimTime::from_ps(task.recorded_ps) : SimTime::zero();
}

}  // namespace

std::optional<workload::Operation> operation_of(const GraphOptions& options, const Task& task,
                                                const workload::NodeShape* shape) {
  const bool has_work = task.flops > 0 || task.bytes > 0;
  const bool is_recorded = task.recorded_ps >= 0 && options.times == NodeTimes::recorded;
  if (!has_work || is_recorded || task.on_host) {
    return std::nullopt;
  }
  workload::Operation operation;
  operation.flops = Flops(task.flops);
  operation.bytes = Bytes(task.bytes);
  operation.data_type = options.data_type;
  if (shape != nullptr) {
    operation.product = shape->product;
    operation.added = shape->added;
    operation.bytes = operation.bytes - shape->added;
    operation.kernel = shape->kernel;
    operation.data_type = shape->data_type.value_or(options.data_type);
    operation.stored_weights = shape->stored_weights;
    operation.elements = shape->elements;
    operation.twice_keys = shape->twice_keys;
  }
  return operation;
}

std::optional<std::uint32_t> number_on_core(const GraphSetup& setup, EntityId self,
                                            const Task& task, const workload::NodeShape* shape) {
  if (!setup.is_core || task.action != workload::GraphAction::compute || !setup.is_core(self)) {
    return std::nullopt;
  }
  const auto operation = operation_of(setup.work.options, task, shape);
  return operation ? std::optional(setup.work.first_operation +
                                   setup.work.operation_numbers.at(*operation))
                   : std::nullopt;
}

void list_operations(GraphWork& work) {
  constexpr std::size_t at_a_time = 4096;
  for (std::uint32_t npu = 0; npu < work.npus(); ++npu) {
    workload::GraphPosition position;
    for (auto nodes = work.source->read(npu, position, at_a_time); !nodes.empty();
         nodes = work.source->read(npu, position, at_a_time)) {
      for (const workload::GraphNode& node : nodes) {
        if (node.action != workload::GraphAction::compute) {
          continue;
        }
        const auto operation =
            operation_of(work.options, task_of(work, node), node.shape ? &*node.shape : nullptr);
        const auto number = static_cast<std::uint32_t>(work.operations.size());
        if (operation && work.operation_numbers.try_emplace(*operation, number).second) {
          work.operations.push_back(*operation);
        }
      }
    }
  }
}

SimTime node_time(const GraphSetup& setup, EntityId self, const Task& task,
                  const workload::NodeShape* shape, bool beside) {
  const SimTime time = full_speed_time(setup, self, task, shape, beside);
  return task.on_host ? time : setup.machine.time_at(self, time);
}

SimTime send_time(const GraphSetup& setup, EntityId self, const Task& task) {
  return setup.work.options.sends == Sends::eager
             ? SimTime::zero()
             : setup.message_time(self, setup.work.nodes[task.peer], Bytes(task.bytes));
}

Lane lane_of(const GraphWork& work, const Task& task) {
  const bool holds =
      task.action == workload::GraphAction::send && work.options.sends == Sends::delivered;
  return holds ? Lane::collective : task.lane();
}

bool is_elsewhere(const GraphWork& work, const Task& task) {
  return task.in_remote && work.remote_of.empty() && !work.remote_in_channels;
}

}  // namespace tessera::executor
