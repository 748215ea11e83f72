#include "graph/standing.hpp"

#include <algorithm>
#include <vector>

#include "graph/node_times.hpp"

namespace tessera::executor {

using workload::GraphAction;

SimTime GraphStanding::least_duration(std::uint32_t index, const GraphTasks& tasks,
                                      const Task& task) {
  const EntityId self = setup_.members[index];
  switch (task.action) {
    case GraphAction::compute:
      if (number_on_core(setup_, self, task, tasks.shape_of(task))) {
        return setup_.least_time(self, *operation_of(work_.options, task, tasks.shape_of(task)));
      }
      return node_time(setup_, self, task, tasks.shape_of(task));
    case GraphAction::send:
      return send_time(setup_, self, task);
    case GraphAction::collective:
      return setup_.collective.once;
    case GraphAction::load:
    case GraphAction::store:
      return is_elsewhere(work_, task) ? setup_.remote_time(Bytes(task.bytes), task.in_switch)
                                       : SimTime::zero();
    default:
      return SimTime::zero();
  }
}

void GraphStanding::tell_npu(std::uint32_t index, GraphOutlook& outlook) {
  for (const BegunTask& begun : npus_[index].begun) {
    tell_task(index, begun, outlook);
  }
}

// When it is over, what depends on it begins, and what waits for its lane.
void GraphStanding::tell_task(std::uint32_t index, const BegunTask& begun, GraphOutlook& outlook) {
  const GraphNpu& npu = npus_[index];
  const Task& task = npu.tasks[begun.place];
  const std::vector<Place>& queue = npu.queues[static_cast<std::size_t>(lane_of(work_, task))];
  const auto over = [&](const Resumption& resumption) {
    outlook.stand_behind(resumption, index, begun.place);
    if (!queue.empty()) {
      outlook.stand_queued(resumption, index, queue);
    }
  };
  const Resumption on_time{Resumption::Kind::at, begun.time + outlook.duration(index, begun.place)};
  if (task.action == GraphAction::collective) {
    tell_collective(index, begun.place, on_time, outlook,
                    [&](const Resumption& resumption, const PlannedCollective& plan) {
                      over(resumption);
                      outlook.stand_in(resumption, index, plan);
                    });
  } else if (task.action == GraphAction::receive) {
    const auto waiting =
        std::find_if(npu.receives.begin(), npu.receives.end(),
                     [&](const WaitingReceive& one) { return one.place == begun.place; });
    over(waiting == npu.receives.end()
             ? on_time
             : outlook.message(index, work_.nodes[task.peer], waiting->message, Bytes(task.bytes)));
  } else if (task.lane() == Lane::memory && !is_elsewhere(work_, task)) {
    over(outlook.access(index, static_cast<std::uint16_t>(begun.place)));
  } else {
    over(on_time);
  }
}

// One that has not begun its steps, or is over in this instant, does so at its own time.
template <class Tell>
void GraphStanding::tell_collective(std::uint32_t index, Place place, const Resumption& on_time,
                                    const GraphOutlook& outlook, const Tell& tell) {
  const GraphNpu& npu = npus_[index];
  const auto active = std::find_if(npu.collectives.begin(), npu.collectives.end(),
                                   [&](const auto& one) { return one.place == place; });
  if (active == npu.collectives.end()) {
    tell(on_time, plan_of(npu.tasks[place]));
    return;
  }
  const bool is_known =
      active->run->visit_awaited([&](const collective::CollectiveRun::Awaited& awaited) {
        tell(awaited_in(index, *active, awaited, outlook), *active->plan);
      });
  if (!is_known) {
    tell(Resumption{}, *active->plan);
  }
}

Resumption GraphStanding::awaited_in(std::uint32_t index, const ActiveCollective& active,
                                     const collective::CollectiveRun::Awaited& awaited,
                                     const GraphOutlook& outlook) const {
  const MessageId wait = name_of_wait(active.id, awaited.name);
  const Resumption own = outlook.message(index, setup_.members[index], wait, Bytes());
  if (own.kind == Resumption::Kind::at || awaited.name.step >> (tag_bits + step_bits) != 0) {
    return own;
  }
  const std::uint32_t sender =
      active.plan->npu_at(npus_[index].number, awaited.dimension, awaited.coordinate);
  return outlook.message(index, work_.nodes[sender],
                         collectives_.message_of(active.id, awaited.name), awaited.bytes);
}

}  // namespace tessera::executor
