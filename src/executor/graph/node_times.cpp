#include "graph/node_times.hpp"

#include "tessera/collective/conventions.hpp"

namespace tessera::executor {
namespace {

// Where it runs at its full speed.
SimTime full_speed_time(const GraphSetup& setup, EntityId self, const Task& task,
                        const workload::NodeShape* shape, bool beside) {
  const GraphOptions& options = setup.work.options;
  const bool has_work = task.flops > 0 || task.bytes > 0;
  const bool has_record = task.recorded_ps >= 0;
  if (has_record && (!has_work || options.times == NodeTimes::recorded)) {
    return SimTime::from_ps(task.recorded_ps);
  }
  if (!has_work || task.on_host) {
    return SimTime::zero();
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
  }
  return collective::cut_to(options.collectives.conventions->tick(),
                            setup.compute_time(self, operation, beside));
}

}  // namespace

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
