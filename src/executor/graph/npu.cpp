#include "graph/npu.hpp"

#include <algorithm>

#include "graph/collectives.hpp"
#include "graph/node_times.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

// What an NPU does counts as the first of these that is under way.
Activity activity_of(const GraphNpu& npu) {
  for (const Lane lane :
       {Lane::compute, Lane::memory, Lane::host, Lane::collective, Lane::message}) {
    if (npu.under_way[static_cast<std::size_t>(lane)] > 0) {
      return executor::activity_of(lane);
    }
  }
  return Activity::bubble;
}

}  // namespace

bool GraphNpu::take_early(const MessageId& message) {
  const auto found = early.find(message);
  if (found == early.end()) {
    return false;
  }
  if (--found->second == 0) {
    early.erase(found);
  }
  return true;
}

bool GraphNpu::is_beside() const {
  return std::any_of(begun.begin(), begun.end(), [this](const BegunTask& task) {
    return task.parts > 0 && tasks[task.place].action == workload::GraphAction::collective;
  });
}

void GraphNpu::ends_in_own_event(Place place) {
  const auto found = std::find_if(begun.begin(), begun.end(),
                                  [place](const BegunTask& task) { return task.place == place; });
  ensure(found != begun.end(), "a collective that is over has begun");
  found->parts = 0;
}

BegunTask& GraphNpu::begun_task(const GraphWork& work, Lane lane, std::uint16_t tag) {
  const auto found = std::find_if(begun.begin(), begun.end(), [&](const BegunTask& task) {
    return lane_of(work, tasks[task.place]) == lane &&
           static_cast<std::uint16_t>(task.place) == tag;
  });
  ensure(found != begun.end(), "an access or an operation that nobody has begun");
  return *found;
}

TileResult GraphNpu::result(EntityId tile, bool finished) const {
  TileResult result;
  result.tile = tile;
  result.role = number;
  result.finished = finished;
  result.end = since;
  for (std::size_t i = 0; i < time_ps.size(); ++i) {
    result.time[i] = SimTime::from_ps(time_ps[i]);
  }
  return result;
}

void GraphNpu::book(SimTime now) {
  time_ps[static_cast<std::size_t>(activity_of(*this))] += (now - since).ps();
  since = now;
}

Activity activity_of(Lane lane) {
  switch (lane) {
    case Lane::host:
      return Activity::host;
    case Lane::compute:
      return Activity::compute;
    case Lane::memory:
      return Activity::memory;
    case Lane::collective:
      return Activity::collective;
    case Lane::message:
      return Activity::message;
  }
  throw InternalError("a lane outside its list");
}

std::string to_string(Lane lane) {
  switch (lane) {
    case Lane::host:
      return "host";
    case Lane::compute:
      return "compute";
    case Lane::memory:
      return "memory";
    case Lane::collective:
      return "collective";
    case Lane::message:
      return "message";
  }
  throw InternalError("a lane outside its list");
}

SimTime issued_time(const GraphSetup& setup, const pdes::Context& context, GraphNpu& npu,
                    const Task& task) {
  const EntityId self = context.self();
  const SimTime time = node_time(setup, self, task, npu.tasks.shape_of(task), npu.is_beside());
  if (!task.is_issued || !setup.host_times) {
    return time;
  }
  const compute::HostTimes host = setup.host_times(self);
  return host.begin(npu.issued_until, context.now(), task.issue) - context.now() + time;
}

void save_npu(const GraphNpu& npu, pdes::StateWriter& writer) {
  writer.put(npu.iteration);
  npu.tasks.save(writer);
  for (const std::vector<GraphNpu::Place>& queue : npu.queues) {
    writer.put_all(queue);
  }
  writer.put(npu.under_way);
  writer.put(static_cast<std::uint64_t>(npu.collectives.size()));
  for (const ActiveCollective& active : npu.collectives) {
    writer.put(active.id);
    writer.put(active.place);
    writer.put_all(active.run->save());
    writer.put_all(active.phases);
  }
  writer.put_all(npu.receives);
  writer.put(static_cast<std::uint64_t>(npu.early.size()));
  for (const auto& [message, count] : npu.early) {
    writer.put(message);
    writer.put(count);
  }
  writer.put_all(npu.begun);
  save(npu.unreported, writer);
  writer.put(npu.since);
  writer.put(npu.asked_until);
  writer.put(npu.issued_until);
  writer.put(npu.time_ps);
}

void restore_npu(GraphNpu& npu, GraphCollectives& collectives, pdes::StateReader& reader) {
  npu.iteration = reader.get<std::uint32_t>();
  npu.tasks.restore(reader);
  for (std::vector<GraphNpu::Place>& queue : npu.queues) {
    queue = reader.get_all<GraphNpu::Place>();
  }
  npu.under_way = reader.get<std::array<std::uint32_t, lanes>>();
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto id = reader.get<CollectiveId>();
    const auto place = reader.get<GraphNpu::Place>();
    ActiveCollective& active = collectives.add(npu, id, place);
    active.run->restore(reader.get_all<std::uint32_t>());
    active.phases = reader.get_all<OpenPhase>();
  }
  npu.receives = reader.get_all<WaitingReceive>();
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto message = reader.get<MessageId>();
    npu.early[message] = reader.get<std::uint32_t>();
  }
  npu.begun = reader.get_all<BegunTask>();
  npu.unreported = restore_unreported(reader);
  npu.since = reader.get<SimTime>();
  npu.asked_until = reader.get<SimTime>();
  npu.issued_until = reader.get<SimTime>();
  npu.time_ps = reader.get<std::array<std::int64_t, activities>>();
}

}  // namespace tessera::executor
