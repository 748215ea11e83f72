#include "tessera/executor/graph/forecast.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "collectives/plans.hpp"
#include "graph/node_times.hpp"
#include "graph/tasks.hpp"

namespace tessera::executor {
namespace {

using workload::GraphAction;

// A direct exchange among a thousand is a million pairs, of which some stand for all.
constexpr std::size_t most_talks = 300'000;
constexpr std::uint32_t fewest_talks = 8;  // of a member, in a dimension

struct Node {
  Task task;
  std::uint32_t unmet = 0;
  std::vector<std::uint32_t> dependents;
  std::optional<workload::NodeShape> shape;
};

class Forecasting {
 public:
  Forecasting(const GraphSetup& setup, std::uint64_t most_nodes) : setup_(setup), plans_(setup) {
    constexpr std::uint64_t fewest = 16;
    const std::uint32_t npus = setup.work.npus();
    const std::uint64_t each = std::max(fewest, most_nodes / std::max(1U, npus));
    for (std::uint32_t npu = 0; npu < npus; ++npu) {
      if (setup.work.survey.at_work[npu]) {
        read(npu, each);
      }
    }
  }

  GraphForecast run() {
    for (const auto& [npu, own] : npus_) {
      for (std::uint32_t number = 0; number < own.nodes.size(); ++number) {
        if (own.nodes[number].unmet == 0) {
          begin(npu, number, SimTime::zero());
        }
      }
    }
    while (!ends_.empty() && forecast_.talks.size() < most_talks) {
      const auto [time, npu, number] = ends_.top();
      ends_.pop();
      ++forecast_.nodes;
      std::vector<Node>& nodes = npus_.at(npu).nodes;
      for (const std::uint32_t next : nodes[number].dependents) {
        if (--nodes[next].unmet == 0) {
          begin(npu, next, time);
        }
      }
    }
    return std::move(forecast_);
  }

 private:
  struct Npu {
    std::vector<Node> nodes;
    SimTime free_at;                                     // to compute
    std::map<std::uint32_t, std::uint32_t> collectives;  // begun so far, by group
  };
  struct Waiting {
    std::uint32_t npu = 0;
    std::uint32_t number = 0;
    SimTime since;
  };
  using Ends = std::tuple<SimTime, std::uint32_t, std::uint32_t>;           // NPU, node
  using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // from, to, tag

  void read(std::uint32_t npu, std::uint64_t most) {
    workload::GraphPosition position;
    const std::vector<workload::GraphNode> read = setup_.work.source->read(npu, position, most);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> numbers;  // by the node's
    numbers.reserve(read.size());
    std::vector<Node>& nodes = npus_[npu].nodes;
    nodes.reserve(read.size());
    std::map<std::uint32_t, std::uint32_t> next;  // of collectives, by group
    for (const workload::GraphNode& node : read) {
      numbers.emplace_back(node.id, static_cast<std::uint32_t>(nodes.size()));
      Node& added = nodes.emplace_back();
      added.task = task_of(setup_.work, node);
      added.shape = node.shape;
      if (node.action == GraphAction::collective) {
        added.task.number = next[added.task.group]++;
      }
    }
    std::sort(numbers.begin(), numbers.end());  // most are in order
    for (std::uint32_t number = 0; number < read.size(); ++number) {
      for (const auto* dependencies :
           {&read[number].data_dependencies, &read[number].control_dependencies}) {
        for (const std::uint64_t id : *dependencies) {
          ++nodes[number].unmet;  // for ever, of what has not been read
          const auto on = std::lower_bound(numbers.begin(), numbers.end(), std::pair{id, 0U});
          if (on != numbers.end() && on->first == id) {
            nodes[on->second].dependents.push_back(number);
          }
        }
      }
    }
  }

  void end(std::uint32_t npu, std::uint32_t number, SimTime begin, SimTime end) {
    forecast_.runs.push_back({npu, begin, end});
    ends_.emplace(end, npu, number);
  }

  SimTime message_time(std::uint32_t from, std::uint32_t to, Bytes bytes) const {
    return from == to ? SimTime::zero()
                      : setup_.message_time(setup_.work.nodes[from], setup_.work.nodes[to], bytes);
  }

  void begin(std::uint32_t npu, std::uint32_t number, SimTime time) {
    Npu& here = npus_.at(npu);
    const Node& node = here.nodes[number];
    const Task& task = node.task;
    switch (task.action) {
      case GraphAction::compute: {
        const SimTime start = std::max(time, here.free_at);
        here.free_at = start + node_time(setup_, setup_.work.nodes[npu], task,
                                         node.shape ? &*node.shape : nullptr);
        end(npu, number, start, here.free_at);
        break;
      }
      case GraphAction::send:
        send(npu, task, time);
        end(npu, number, time, time);
        break;
      case GraphAction::receive:
        receive(npu, number, time);
        break;
      case GraphAction::collective:
        take_part(npu, number, time);
        break;
      default:
        end(npu, number, time, time);
        break;
    }
  }

  void send(std::uint32_t npu, const Task& task, SimTime time) {
    const SimTime there = time + message_time(npu, task.peer, Bytes(task.bytes));
    forecast_.talks.push_back({npu, task.peer, 1, Bytes(task.bytes), time, there});
    const Channel channel{npu, task.peer, task.tag};
    std::deque<Waiting>& waiting = receives_[channel];
    if (waiting.empty()) {
      sent_[channel].push_back(there);
    } else {
      end(waiting.front().npu, waiting.front().number, waiting.front().since, there);
      waiting.pop_front();
    }
  }

  void receive(std::uint32_t npu, std::uint32_t number, SimTime time) {
    const Task& task = npus_.at(npu).nodes[number].task;
    const Channel channel{task.peer, npu, task.tag};
    std::deque<SimTime>& sent = sent_[channel];
    if (sent.empty()) {
      receives_[channel].push_back({npu, number, time});
    } else {
      end(npu, number, time, std::max(time, sent.front()));
      sent.pop_front();
    }
  }

  void take_part(std::uint32_t npu, std::uint32_t number, SimTime time) {
    const Task& task = npus_.at(npu).nodes[number].task;
    std::vector<Waiting>& members = members_[{task.group, task.number}];
    members.push_back({npu, number, time});
    if (members.size() < setup_.work.groups[task.group].members.size()) {
      return;
    }
    const PlannedCollective& plan = plans_.of(task);
    const SimTime start = time + setup_.collective.once + plan.held();
    const SimTime over =
        start + plan.idle_time(npu, [this](std::uint32_t from, std::uint32_t to, Bytes bytes) {
          return message_time(from, to, bytes);
        });
    const auto most =
        std::max(fewest_talks, static_cast<std::uint32_t>(most_talks / members.size()));
    for (const Waiting& member : members) {
      plan.visit_peers(
          member.npu,
          [&](std::uint32_t peer, const PlannedCollective::Sends& sends) {
            const std::uint64_t messages = std::max<std::uint64_t>(1, sends.messages);
            forecast_.talks.push_back({member.npu, peer, messages,
                                       Bytes(sends.bytes.count() / messages), start, over,
                                       sends.peers});
          },
          most);
      end(member.npu, member.number, member.since, over);
    }
    members_.erase({task.group, task.number});
  }

  const GraphSetup& setup_;
  CollectivePlans plans_;
  std::map<std::uint32_t, Npu> npus_;  // that have nodes
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> ends_;
  std::map<Channel, std::deque<SimTime>> sent_;      // not received, when they are there
  std::map<Channel, std::deque<Waiting>> receives_;  // that wait
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Waiting>> members_;
  GraphForecast forecast_;
};

}  // namespace

GraphForecast forecast_graphs(const GraphSetup& setup, std::uint64_t most_nodes) {
  return Forecasting(setup, most_nodes).run();
}

}  // namespace tessera::executor
