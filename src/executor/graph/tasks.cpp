#include "graph/tasks.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::executor {

using workload::GraphAction;

Lane Task::lane() const {
  switch (action) {
    case GraphAction::load:
    case GraphAction::store:
      return Lane::memory;
    case GraphAction::send:
    case GraphAction::receive:
      return Lane::message;
    case GraphAction::collective:
      return Lane::collective;
    default:
      return on_host ? Lane::host : Lane::compute;
  }
}

bool GraphTasks::read(const GraphWork& work, std::uint32_t npu, bool stuck,
                      std::vector<Place>& ready) {
  const std::uint64_t before = position_.nodes;
  if (!at_end_ && (waiting_ <= work.options.window / 2 || stuck)) {
    read_some(work, npu, ready);
  }
  // What a short graph needs is known when it has been read.
  if (!at_end_ && !ahead_) {
    ahead_.emplace(*work.source, npu);
  }
  while (is_behind()) {
    read_some(work, npu, ready);
  }
  return position_.nodes > before;
}

void GraphTasks::read_some(const GraphWork& work, std::uint32_t npu, std::vector<Place>& ready) {
  const std::uint32_t window = work.options.window;
  const std::uint32_t room = waiting_ < window ? window - waiting_ : window;
  std::uint64_t in_graph = position_.nodes;
  const std::vector<workload::GraphNode> nodes = work.source->read(npu, position_, room);
  at_end_ = nodes.size() < room;
  for (const workload::GraphNode& node : nodes) {
    add(work, node, in_graph++, ready);
  }
}

Task task_of(const GraphWork& work, const workload::GraphNode& node) {
  Task task;
  task.id = node.id;
  task.flops = node.flops.count();
  task.recorded_ps = node.recorded_duration ? node.recorded_duration->ps() : -1;
  task.action = node.action;
  task.collective = node.collective;
  task.peer = node.action == GraphAction::collective ? node.root : node.peer;
  task.tag = node.tag;
  task.priority = node.priority;
  task.iteration = node.iteration;
  task.on_host = node.on_host;
  task.in_remote = node.in_remote;
  task.in_switch = node.in_switch;
  task.is_issued = node.issue.has_value();
  task.issue = node.issue.value_or(workload::Issue{});
  for (std::size_t d = 0; d < node.dimensions.size(); ++d) {
    task.dimensions =
        static_cast<std::uint16_t>(task.dimensions | (node.dimensions[d] ? 1U : 0U) << d);
  }
  const auto name = work.name_numbers.find(node.name);
  task.name = name != work.name_numbers.end() ? name->second
                                              : static_cast<std::uint16_t>(work.names.size() - 1);
  if (node.action == GraphAction::collective) {
    task.group = node.group.empty() ? 0 : work.group_numbers.at(node.group);
  }
  // More than messages tell apart are refused where they are planned.
  task.channels = static_cast<std::uint16_t>(std::min(node.channels, 0xFFFFU));
  task.has_parts = !node.parts.empty();
  task.bytes = task.has_parts ? 0 : node.bytes.count();
  return task;
}

void GraphTasks::add(const GraphWork& work, const workload::GraphNode& node, std::uint64_t in_graph,
                     std::vector<Place>& ready) {
  Task task = task_of(work, node);
  task.place = in_graph;
  task.shape = node.shape ? number_of(*node.shape) : 0;
  if (task.action == GraphAction::collective) {
    task.number = next_number(task.group);
  }

  Place place = 0;
  if (free_.empty()) {
    place = static_cast<Place>(tasks_.size());
    tasks_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  for (const auto* dependencies : {&node.data_dependencies, &node.control_dependencies}) {
    for (const std::uint64_t id : *dependencies) {
      if (!over_.contains(id)) {
        wait_for(id, place);
        ++task.unmet;
      }
    }
  }
  if (task.has_parts) {
    std::vector<std::uint64_t>& parts = parts_[place];
    for (const Bytes part : node.parts) {
      parts.push_back(part.count());
    }
  }
  tasks_[place] = task;
  ++waiting_;
  ++held_;
  if (task.unmet == 0) {
    ready.push_back(place);
  }
}

std::uint32_t GraphTasks::next_number(std::uint32_t group) {
  auto found = std::lower_bound(counters_.begin(), counters_.end(), group,
                                [](const Counter& a, std::uint32_t b) { return a.group < b; });
  if (found == counters_.end() || found->group != group) {
    found = counters_.insert(found, {group, 0});
  }
  return found->next++;
}

std::uint32_t GraphTasks::number_of(const workload::NodeShape& shape) {
  const auto found = std::find(shapes_.begin(), shapes_.end(), shape);
  const auto place = static_cast<std::uint32_t>(found - shapes_.begin());
  if (found == shapes_.end()) {
    shapes_.push_back(shape);
  }
  return place + 1;
}

void GraphTasks::wait_for(std::uint64_t id, Place place) {
  const auto behind =
      std::upper_bound(dependents_.begin(), dependents_.end(), id,
                       [](std::uint64_t a, const Dependent& b) { return a < b.on; });
  dependents_.insert(behind, {id, place});
}

void GraphTasks::end(Place place, std::vector<Place>& ready) {
  const std::uint64_t id = tasks_[place].id;
  ensure(over_.insert(id), "a node that ends once");
  const bool at_front = dependents_.empty() || dependents_.front().on >= id;  // as most
  const auto first =
      at_front ? dependents_.begin()
               : std::lower_bound(dependents_.begin(), dependents_.end(), id,
                                  [](const Dependent& a, std::uint64_t b) { return a.on < b; });
  auto last = first;
  for (; last != dependents_.end() && last->on == id; ++last) {
    if (--tasks_[last->place].unmet == 0) {
      ready.push_back(last->place);
    }
  }
  dependents_.erase(first, last);
  over_below_ = std::max(over_below_, tasks_[place].place + 1);
  parts_.erase(place);
  free_.push_back(place);
  --held_;
  ++over_count_;
}

std::vector<bool> GraphTasks::held() const {
  std::vector<bool> held(tasks_.size(), true);
  for (const Place place : free_) {
    held[place] = false;
  }
  return held;
}

void GraphTasks::rewind() {
  ensure(all_over(), "a graph that is over before it begins again");
  GraphTasks next;
  next.over_count_ = over_count_;
  next.counters_ = std::move(counters_);  // messages of both iterations may be under way
  next.ahead_ = std::move(ahead_);
  next.shapes_ = std::move(shapes_);
  *this = std::move(next);
}

std::size_t GraphTasks::resident_bytes() const {
  return tasks_.capacity() * sizeof(Task) + free_.capacity() * sizeof(Place) +
         dependents_.size() * sizeof(Dependent) + counters_.capacity() * sizeof(Counter) +
         over_.intervals().capacity() * sizeof(IdSet::Interval) +
         shapes_.capacity() * sizeof(workload::NodeShape) + (ahead_ ? ahead_->resident_bytes() : 0);
}

void GraphTasks::save(pdes::StateWriter& writer) const {
  writer.put(position_);
  writer.put(over_below_);
  writer.put(static_cast<std::uint8_t>(at_end_ ? 1 : 0));
  writer.put(waiting_);
  writer.put(held_);
  writer.put(over_count_);
  writer.put_all(tasks_);
  writer.put_all(free_);
  writer.put_all(std::vector<Dependent>(dependents_.begin(), dependents_.end()));
  writer.put_all(counters_);
  writer.put_all(over_.intervals());
  writer.put_all(shapes_);
  writer.put(static_cast<std::uint64_t>(parts_.size()));
  for (const auto& [place, parts] : parts_) {
    writer.put(place);
    writer.put_all(parts);
  }
}

void GraphTasks::restore(pdes::StateReader& reader) {
  position_ = reader.get<workload::GraphPosition>();
  over_below_ = reader.get<std::uint64_t>();
  at_end_ = reader.get<std::uint8_t>() != 0;
  waiting_ = reader.get<std::uint32_t>();
  held_ = reader.get<std::uint32_t>();
  over_count_ = reader.get<std::uint64_t>();
  tasks_ = reader.get_all<Task>();
  free_ = reader.get_all<Place>();
  const auto dependents = reader.get_all<Dependent>();
  dependents_.assign(dependents.begin(), dependents.end());
  counters_ = reader.get_all<Counter>();
  over_.restore(reader.get_all<IdSet::Interval>());
  shapes_ = reader.get_all<workload::NodeShape>();
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto place = reader.get<Place>();
    parts_[place] = reader.get_all<std::uint64_t>();
  }
}

}  // namespace tessera::executor
