// The nodes of one NPU's graph that have been read and are not over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/read_ahead.hpp"
#include "id_set.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// A node in few bytes: names and communicators by number.
struct Task {
  std::uint64_t id = 0;
  std::uint64_t place = 0;  // in the graph
  std::uint64_t bytes = 0;
  std::uint64_t flops = 0;
  std::int64_t recorded_ps = -1;  // duration; -1: none
  std::uint32_t group = 0;        // in GraphWork::groups
  std::uint32_t number = 0;       // of a collective, among those of its group
  std::uint32_t peer = 0;         // of messages; of a collective the root's number
  std::uint32_t tag = 0;
  std::uint32_t unmet = 0;  // dependencies
  std::uint32_t priority = 0;
  std::uint32_t iteration = 0;   // inside of the graph
  std::uint32_t shape = 0;       // number of GraphTasks::shape; 0: not known
  std::uint16_t dimensions = 0;  // bit d: a collective goes over dimension d; 0: as the group says
  std::uint16_t name = 0;
  std::uint16_t channels = 1;  // of a collective
  workload::GraphAction action = workload::GraphAction::nothing;
  collective::Kind collective = collective::Kind::all_reduce;
  bool on_host = false;
  bool in_remote = false;
  bool in_switch = false;
  bool has_parts = false;  // GraphTasks::parts
  bool is_issued = false;
  workload::Issue issue;  // of one that is

  Lane lane() const;
};

// All of it but its place, its number and its shape.
Task task_of(const GraphWork& work, const workload::GraphNode& node);

class GraphTasks {
 public:
  using Place = std::uint32_t;

  // Reads on when fewer than half of a window wait, or `stuck`, and as far as dependencies of those
  // that are over ask; adds those that are ready. Whether any were read.
  bool read(const GraphWork& work, std::uint32_t npu, bool stuck, std::vector<Place>& ready);
  // Takes it out of those that wait; it is over later.
  void begin(Place) { --waiting_; }
  void end(Place place, std::vector<Place>& ready);
  // From the begin of the graph again.
  void rewind();

  Task& operator[](Place place) { return tasks_[place]; }
  const Task& operator[](Place place) const { return tasks_[place]; }
  // Bytes to each member, of a task that has parts.
  const std::vector<std::uint64_t>& parts(Place place) const { return parts_.at(place); }
  // Null where it is not known.
  const workload::NodeShape* shape_of(const Task& task) const {
    return task.shape == 0 ? nullptr : &shapes_.at(task.shape - 1);
  }
  bool all_over() const { return at_end_ && held_ == 0; }
  bool at_end() const { return at_end_; }
  // Whether some that are ready may not have been read.
  bool is_behind() const {
    return !at_end_ && ahead_ && position_.nodes < ahead_->nodes(over_below_);
  }
  std::uint64_t over() const { return over_count_; }
  // How many nodes of the graph have been read.
  std::uint64_t read_so_far() const { return position_.nodes; }
  // No node that has not been read begins before one of those from this place on is over.
  std::uint64_t holds_back_from() const {
    return ahead_ ? ahead_->holds_back_from(position_.nodes) : over_below_;
  }
  // Places are below it.
  std::size_t places() const { return tasks_.size(); }
  // [places] whether a task is there that is not over.
  std::vector<bool> held() const;
  // Calls visit(on, dependent) for the places of tasks that are not over, of which one depends on
  // the other.
  template <class Visit>
  void visit_dependencies(const Visit& visit) const {
    std::vector<std::pair<std::uint64_t, Place>> by_id;
    const std::vector<bool> is_held = held();
    for (Place place = 0; place < tasks_.size(); ++place) {
      if (is_held[place]) {
        by_id.emplace_back(tasks_[place].id, place);
      }
    }
    std::sort(by_id.begin(), by_id.end());
    auto on = by_id.begin();
    for (const Dependent& dependent : dependents_) {
      while (on != by_id.end() && on->first < dependent.on) {
        ++on;
      }
      if (on != by_id.end() && on->first == dependent.on) {
        visit(on->second, dependent.place);
      }
    }
  }
  std::size_t resident_bytes() const;

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  struct Dependent {
    std::uint64_t on = 0;
    Place place = 0;
  };
  struct Counter {
    std::uint32_t group = 0;
    std::uint32_t next = 0;
  };

  void read_some(const GraphWork& work, std::uint32_t npu, std::vector<Place>& ready);
  void add(const GraphWork& work, const workload::GraphNode& node, std::uint64_t in_graph,
           std::vector<Place>& ready);
  std::uint32_t next_number(std::uint32_t group);
  std::uint32_t number_of(const workload::NodeShape& shape);
  void wait_for(std::uint64_t id, Place place);

  workload::GraphPosition position_;
  std::optional<ReadAhead> ahead_;  // none: not known yet, or all has been read
  std::uint64_t over_below_ = 0;    // no node from this place on is over
  bool at_end_ = false;
  std::uint32_t waiting_ = 0;  // not begun
  std::uint32_t held_ = 0;     // not over
  std::uint64_t over_count_ = 0;
  std::vector<Task> tasks_;
  std::vector<Place> free_;
  std::deque<Dependent> dependents_;  // by what they depend on; most leave near the front
  std::vector<Counter> counters_;     // of collectives, by group
  std::map<Place, std::vector<std::uint64_t>> parts_;
  std::vector<workload::NodeShape> shapes_;  // each once; models have few
  IdSet over_;
};

}  // namespace tessera::executor
