#include "graph/graph_outlook.hpp"

#include <algorithm>

namespace tessera::executor {

using workload::GraphAction;

namespace {

constexpr std::size_t nodes_at_a_time = 4096;

}  // namespace

// By itself, or by the core that computes it.
bool GraphOutlook::accesses_memory(std::uint32_t index, const Task& task) const {
  return task.action == GraphAction::load || task.action == GraphAction::store ||
         (task.action == GraphAction::compute && setup().computing_accesses &&
          setup().computing_accesses(member(index)));
}

MessageId name_of_wait(const CollectiveId& of, collective::StepName name) {
  name.step &= (1U << (tag_bits + step_bits)) - 1;
  return id_of(of, name);
}

GraphOutlook::GraphOutlook(const GraphSetup& setup, std::span<const GraphNpu> npus, bool hears,
                           Host& host)
    : WatchedOutlook(setup.outlook, setup.members, setup.machine.topology->nodes()),
      graphs_(setup),
      hears_(hears),
      npus_(npus),
      host_(host),
      ahead_(npus.size()) {
  for (std::uint32_t index = 0; index < npus.size(); ++index) {
    if (npus[index].number != GraphNpu::unused) {
      look_through(index);
    }
  }
}

void GraphOutlook::look_through(std::uint32_t index) {
  const std::uint32_t npu = npus_[index].number;
  std::map<std::uint32_t, std::pair<SimTime, std::uint64_t>> all;  // by region: least, last
  const auto take = [&](const Regions& exits, std::uint64_t place) {
    for (const auto& [region, latency] : exits) {
      const auto [known, is_new] = all.try_emplace(region, latency, place);
      known->second = {std::min(known->second.first, latency), place};
    }
  };
  workload::GraphPosition position;
  std::uint64_t place = 0;
  for (auto nodes = graphs_.work.source->read(npu, position, nodes_at_a_time); !nodes.empty();
       nodes = graphs_.work.source->read(npu, position, nodes_at_a_time)) {
    for (const workload::GraphNode& node : nodes) {
      const Task task = task_of(graphs_.work, node);
      if (task.action == GraphAction::collective) {
        take(exits_of_collective(index, host_.plan_of(task)), place);
      } else if (task.action == GraphAction::send || accesses_memory(index, task)) {
        take(exits_of(index, task), place);
      }
      ++place;
    }
  }
  if (all.empty()) {
    return;
  }
  Ahead& ahead = ahead_[index];
  for (const auto& [region, known] : all) {
    ahead.regions.push_back(region);
    ahead.least.push_back(known.first);
    ahead.last.push_back(known.second);
  }
  watch(index);
}

// Those who hear of messages are told in events of their own.
void GraphOutlook::add_message(Regions& regions, EntityId from, EntityId to, Bytes bytes) const {
  if (from == to) {
    return;
  }
  add_exit(regions, setup().exit_of_message(from, to, bytes));
  if (hears_ && !setup().regions->is_here(to)) {
    add_exit(regions,
             {setup().regions->owner[to.value()], graphs_.message_time(from, to, Bytes(0))});
  }
}

GraphOutlook::Regions GraphOutlook::exits_of(std::uint32_t index, const Task& task) {
  Regions regions;
  const EntityId here = member(index);
  if (task.action == GraphAction::send) {
    add_message(regions, here, graphs_.work.nodes[task.peer], Bytes(task.bytes));
  } else if (task.action == GraphAction::collective) {
    return exits_of_collective(index, host_.plan_of(task));
  } else if (accesses_memory(index, task)) {
    const EntityId memory = setup().memory_node(here);
    add_exit(regions, here, memory);
    add_exit(regions, memory, here);  // the reply, too, where ways out and back differ
  }
  return regions;
}

const GraphOutlook::Regions& GraphOutlook::exits_of_collective(std::uint32_t index,
                                                               const PlannedCollective& plan) {
  const auto [entry, is_new] = collectives_.try_emplace({&plan, index});
  Regions& regions = entry->second;
  if (is_new) {
    const std::vector<EntityId>& nodes = graphs_.work.nodes;
    plan.visit_peers(npus_[index].number,
                     [&](std::uint32_t peer, const PlannedCollective::Sends& sends) {
                       add_message(regions, member(index), nodes[peer], sends.least);
                     });
  }
  return regions;
}

void GraphOutlook::learn(std::uint32_t index, const GraphNpu& npu) {
  if (!is_watched(index)) {
    return;
  }
  const GraphTasks& tasks = npu.tasks;
  Ahead& ahead = ahead_[index];
  const std::size_t size = tasks.places() * ahead.regions.size();
  ahead.duration.assign(tasks.places(), SimTime::zero());
  ahead.from_begin.assign(size, SimTime::never());
  ahead.from_end.assign(size, SimTime::never());
  const std::vector<bool> held = tasks.held();
  std::vector<std::uint32_t> dependents(tasks.places());
  std::vector<std::pair<Place, Place>> edges;
  tasks.visit_dependencies([&](Place on, Place dependent) {
    ++dependents[on];
    edges.emplace_back(dependent, on);
  });
  for (Place place = 0; place < held.size(); ++place) {
    if (held[place]) {
      ahead.duration[place] = host_.least_duration(index, tasks, tasks[place]);
    }
  }
  add_unread(ahead, npu, held, dependents);
  pass_back(index, tasks, held, std::move(dependents), std::move(edges));
}

// Nodes that have not been read, and those of the next iteration, which begins when all are over.
void GraphOutlook::add_unread(Ahead& ahead, const GraphNpu& npu, const std::vector<bool>& held,
                              const std::vector<std::uint32_t>& dependents) const {
  const GraphTasks& tasks = npu.tasks;
  const std::size_t regions = ahead.regions.size();
  const bool repeats = npu.iteration + 1 < graphs_.iterations;
  const std::uint64_t holds_back = tasks.holds_back_from();
  for (Place place = 0; place < held.size(); ++place) {
    if (!held[place]) {
      continue;
    }
    const bool before_unread = !tasks.at_end() && tasks[place].place >= holds_back;
    const bool before_end = repeats && (before_unread || dependents[place] == 0);
    for (std::size_t r = 0; r < regions; ++r) {
      if (before_end || (before_unread && ahead.last[r] >= tasks.read_so_far())) {
        ahead.from_end[place * regions + r] = ahead.least[r];
      }
    }
  }
}

// From tasks on which none depends to those on which they depend.
void GraphOutlook::pass_back(std::uint32_t index, const GraphTasks& tasks,
                             const std::vector<bool>& held, std::vector<std::uint32_t> dependents,
                             std::vector<std::pair<Place, Place>> edges) {
  Ahead& ahead = ahead_[index];
  const std::size_t regions = ahead.regions.size();
  std::sort(edges.begin(), edges.end());
  std::vector<Place> known;
  std::vector<bool> left = held;
  for (Place place = 0; place < held.size(); ++place) {
    if (held[place] && dependents[place] == 0) {
      known.push_back(place);
    }
  }
  while (!known.empty()) {
    const Place place = known.back();
    known.pop_back();
    left[place] = false;
    reach(index, tasks, place);
    auto edge = std::lower_bound(edges.begin(), edges.end(), std::pair<Place, Place>{place, 0});
    for (; edge != edges.end() && edge->first == place; ++edge) {
      const Place on = edge->second;
      for (std::size_t r = 0; r < regions; ++r) {
        SimTime& least = ahead.from_end[on * regions + r];
        least = std::min(least, ahead.from_begin[place * regions + r]);
      }
      if (--dependents[on] == 0) {
        known.push_back(on);
      }
    }
  }
  SimTime longest;
  for (Place place = 0; place < held.size(); ++place) {
    for (std::size_t r = 0; r < regions; ++r) {
      const std::size_t at = place * regions + r;
      if (left[place]) {  // before a circle of dependencies
        ahead.from_begin[at] = ahead.from_end[at] = ahead.least[r];
      }
      if (!ahead.from_begin[at].is_never()) {
        longest = std::max(longest, ahead.from_begin[at]);
      }
    }
  }
  set_horizon(std::max(horizon(), SimTime::from_ps(longest.ps() / horizon_part)));
}

// Whether a task sends out itself, or what depends on it does.
void GraphOutlook::reach(std::uint32_t index, const GraphTasks& tasks, Place place) {
  Ahead& ahead = ahead_[index];
  const std::size_t regions = ahead.regions.size();
  const Task& task = tasks[place];
  for (std::size_t r = 0; r < regions; ++r) {
    const std::size_t at = place * regions + r;
    if (!ahead.from_end[at].is_never()) {
      ahead.from_begin[at] = ahead.duration[place] + ahead.from_end[at];
    }
  }
  if (task.action != GraphAction::send && task.action != GraphAction::collective &&
      !accesses_memory(index, task)) {
    return;
  }
  // A collective begins when the time that its library takes is over.
  const SimTime before =
      task.action == GraphAction::collective ? ahead.duration[place] : SimTime::zero();
  for (const auto& [region, latency] : exits_of(index, task)) {
    const auto found = std::lower_bound(ahead.regions.begin(), ahead.regions.end(), region);
    SimTime& least =
        ahead.from_begin[place * regions + static_cast<std::size_t>(found - ahead.regions.begin())];
    least = std::min(least, before + latency);
  }
}

Resumption GraphOutlook::message(std::uint32_t index, EntityId source, const MessageId& id,
                                 Bytes bytes) const {
  const SimTime earliest = earliest_under_way(index, [&](const UnderWay& message) {
    return message.word == id.word && message.tag == id.tag &&
           (message.source == source || !message.source.valid());
  });
  return earliest.is_never() ? not_sent_yet(index, source, bytes)
                             : Resumption{Resumption::Kind::at, earliest};
}

Resumption GraphOutlook::access(std::uint32_t index, std::uint16_t tag) const {
  const SimTime earliest = earliest_under_way(index, [&](const UnderWay& message) {
    return !message.source.valid() && message.word == 0 && message.tag == tag;
  });
  return WatchedOutlook::access(index, !earliest.is_never());
}

void GraphOutlook::stand_behind(const Resumption& resumption, std::uint32_t index, Place place) {
  const Ahead& ahead = ahead_[index];
  for (std::size_t r = 0; r < ahead.regions.size(); ++r) {
    add(ahead.regions[r], resumption, ahead.from_end[place * ahead.regions.size() + r]);
  }
}

void GraphOutlook::stand_in(const Resumption& resumption, std::uint32_t index,
                            const PlannedCollective& plan) {
  for (const auto& [region, latency] : exits_of_collective(index, plan)) {
    add(region, resumption, latency);
  }
}

void GraphOutlook::stand_queued(const Resumption& resumption, std::uint32_t index,
                                std::span<const Place> queue) {
  const Ahead& ahead = ahead_[index];
  for (std::size_t r = 0; r < ahead.regions.size(); ++r) {
    SimTime least = SimTime::never();
    for (const Place place : queue) {
      least = std::min(least, ahead.from_begin[place * ahead.regions.size() + r]);
    }
    add(ahead.regions[r], resumption, least);
  }
}

void GraphOutlook::tell(std::uint32_t index) {
  if (has_begun(index)) {
    host_.tell_npu(index, *this);
    return;
  }
  const Ahead& ahead = ahead_[index];
  for (std::size_t r = 0; r < ahead.regions.size(); ++r) {
    add(ahead.regions[r], {}, ahead.least[r]);
  }
}

}  // namespace tessera::executor
