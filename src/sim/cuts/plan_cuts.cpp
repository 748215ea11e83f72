#include "cuts/plan_cuts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "cuts/idle_nodes.hpp"
#include "cuts/place_cutter.hpp"
#include "tessera/machine/partition/partition_tools.hpp"

namespace tessera::sim {
namespace {

// [items] the run each is in.
std::vector<std::uint32_t> even_runs(const std::vector<std::uint64_t>& loads, std::uint32_t runs) {
  const std::vector<std::uint32_t> cuts = machine::even_cuts(machine::RunOfLoads(loads), runs);
  std::vector<std::uint32_t> run_of(loads.size());
  for (std::uint32_t run = 0; run < runs; ++run) {
    std::fill(run_of.begin() + cuts[run], run_of.begin() + cuts[run + 1], run);
  }
  return run_of;
}

}  // namespace

PlanCuts::PlanCuts(const Experiment& experiment, machine::Weights weights)
    : experiment_(experiment),
      weights_(std::move(weights)),
      traffic_(experiment),
      times_(plan_times(experiment, traffic_)) {
  weigh_groups();
  find_touched();
  find_channels();
  graph_ = make_graph();
}

const std::vector<std::string>& PlanCuts::names() {
  static const std::vector<std::string> list{"replicas", "stages", "stages-replicas", "groups",
                                             "traffic"};
  return list;
}

void PlanCuts::weigh_groups() {
  load_.resize(traffic_.groups());
  place_.resize(traffic_.groups());
  const machine::Topology& topology = *experiment_.machine.topology;
  const std::uint32_t tensor = traffic_.plan().strategy.degrees.tensor;
  traffic_.visit_groups([&](std::size_t node, std::uint32_t group) {
    const machine::Position position =
        topology.position(EntityId(static_cast<std::uint32_t>(node)));
    load_[group] += weights_.of(node);
    place_[group].x += position.x / tensor;
    place_[group].y += position.y / tensor;
  });
}

void PlanCuts::find_channels() {
  const machine::Machine& machine = experiment_.machine;
  if (machine.channels.empty()) {
    return;
  }
  if (machine::is_vast(*machine.topology)) {
    for (const Touch& touch : touched_) {
      const std::uint32_t channel = machine.channel_of[touch.node];
      if (channel < machine.channels.size() &&
          machine.channels[channel].node == EntityId(touch.node)) {
        channel_node_.push_back(touch.node);
      }
    }
  } else {
    for (const machine::MemoryChannel& channel : machine.channels) {
      if (traffic_.group_at(channel.node.value()) == PlanTraffic::none) {
        channel_node_.push_back(channel.node.value());
      }
    }
    std::sort(channel_node_.begin(), channel_node_.end());
  }
  channel_node_.erase(std::unique(channel_node_.begin(), channel_node_.end()), channel_node_.end());
}

// Adds up touches of the same node and group from `first` on.
void PlanCuts::merge_touched(std::size_t first) {
  const auto begin = touched_.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, touched_.end(),
            [](const Touch& a, const Touch& b) { return a.ends() < b.ends(); });
  auto last = begin;
  for (auto next = begin; next != touched_.end(); ++next) {
    if (next != begin && last->ends() == next->ends()) {
      last->events += next->events;
    } else {
      last = next == begin ? begin : last + 1;
      *last = *next;
    }
  }
  if (begin != touched_.end()) {
    touched_.erase(last + 1, touched_.end());
  }
}

// A flow belongs to the groups at its ends.
void PlanCuts::find_touched() {
  for (std::size_t stage = 0; stage < traffic_.stages(); ++stage) {
    const std::size_t first = touched_.size();
    for (const PlanTraffic::Flow& flow : traffic_.flows(stage)) {
      const auto route = traffic_.route(flow);
      const std::uint64_t events =
          std::uint64_t{flow.messages + flow.passing} * traffic_.runs(flow.job);
      for (const std::uint32_t node : route) {
        if (traffic_.group_at(node) != PlanTraffic::none) {
          continue;
        }
        for (const std::uint32_t end : {route.front(), route.back()}) {
          if (traffic_.group_at(end) != PlanTraffic::none) {
            touched_.push_back({node, traffic_.group_at(end), events});
          }
        }
      }
    }
    merge_touched(first);
  }
  merge_touched(0);
}

// Replicas with the same weights of experts, or with parts of the same sequences, talk in every
// pass: they stay together while there are enough others.
std::vector<PlanCuts::Unit> PlanCuts::units(std::uint32_t ranks) const {
  const plan::Strategy& strategy = traffic_.plan().strategy;
  const std::uint32_t data = traffic_.data();
  std::uint32_t size = std::lcm(strategy.context, strategy.expert);
  for (const std::uint32_t smaller : {strategy.expert, strategy.context, 1U}) {
    if (data % size != 0 || data / size < ranks) {
      size = smaller;
    }
  }
  std::vector<Unit> units;
  for (std::uint32_t first = 0; first < data; first += size) {
    Unit& unit = units.emplace_back();
    unit.first = first;
    unit.end = std::min(data, first + size);
    const auto groups = static_cast<double>(traffic_.stages() * (unit.end - first));
    for (std::uint32_t stage = 0; stage < traffic_.stages(); ++stage) {
      for (std::uint32_t replica = first; replica < unit.end; ++replica) {
        const std::uint32_t group = stage * data + replica;
        unit.load += load_[group];
        unit.place.x += place_[group].x / groups;
        unit.place.y += place_[group].y / groups;
      }
    }
  }
  return units;
}

std::vector<std::uint32_t> PlanCuts::parts_of_replicas(std::uint32_t parts, Order order) const {
  std::vector<Unit> units = this->units(parts);
  if (units.size() < parts) {
    return {};
  }
  if (order != Order::number) {
    std::stable_sort(units.begin(), units.end(), [&](const Unit& a, const Unit& b) {
      return comes_first(a.place, b.place, order == Order::columns);
    });
  }
  std::vector<std::uint64_t> loads;
  for (const Unit& unit : units) {
    loads.push_back(unit.load);
  }
  const std::vector<std::uint32_t> run_of = even_runs(loads, parts);
  std::vector<std::uint32_t> part(traffic_.data());
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    std::fill(part.begin() + units[unit].first, part.begin() + units[unit].end, run_of[unit]);
  }
  return part;
}

// In turn, ranks share what stages do one after the other without waiting for it, as the sums of
// gradients where backward passes end.
std::vector<std::uint32_t> PlanCuts::parts_of_stages(std::uint32_t parts, Dealing dealing) const {
  if (traffic_.stages() < parts) {
    return {};
  }
  if (dealing == Dealing::turns) {
    std::vector<std::uint32_t> part;
    for (std::uint32_t stage = 0; stage < traffic_.stages(); ++stage) {
      part.push_back(stage % parts);
    }
    return part;
  }
  std::vector<std::uint64_t> loads(traffic_.stages());
  for (std::uint32_t group = 0; group < load_.size(); ++group) {
    loads[group / traffic_.data()] += load_[group];
  }
  return even_runs(loads, parts);
}

PlanCuts::Owners PlanCuts::product(const std::vector<std::uint32_t>& stages,
                                   const std::vector<std::uint32_t>& replicas,
                                   std::uint32_t replica_parts) const {
  Owners owners;
  for (const std::uint32_t stage : stages) {
    for (const std::uint32_t replica : replicas) {
      owners.push_back(stage * replica_parts + replica);
    }
  }
  return owners;
}

PlanCuts::Owners PlanCuts::in_order(Order order, std::uint32_t ranks) const {
  std::vector<std::uint32_t> groups(load_.size());
  std::iota(groups.begin(), groups.end(), 0);
  std::stable_sort(groups.begin(), groups.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comes_first(place_[a], place_[b], order == Order::columns);
  });
  std::vector<std::uint64_t> loads;
  for (const std::uint32_t group : groups) {
    loads.push_back(load_[group]);
  }
  const std::vector<std::uint32_t> run_of = even_runs(loads, ranks);
  Owners owners(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    owners[groups[i]] = run_of[i];
  }
  return owners;
}

// Groups first … end-1 of the list over `ranks` ranks from `rank` on: across the longer side of
// where they lie.
void PlanCuts::bisect(std::vector<std::uint32_t>& groups, std::size_t first, std::size_t end,
                      std::uint32_t rank, std::uint32_t ranks, Owners& owners) const {
  if (ranks == 1) {
    for (std::size_t i = first; i < end; ++i) {
      owners[groups[i]] = rank;
    }
    return;
  }
  Place least{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  Place most{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::lowest()};
  std::uint64_t load = 0;
  for (std::size_t i = first; i < end; ++i) {
    const Place& place = place_[groups[i]];
    least = {std::min(least.x, place.x), std::min(least.y, place.y)};
    most = {std::max(most.x, place.x), std::max(most.y, place.y)};
    load += load_[groups[i]];
  }
  const bool by_columns = most.x - least.x >= most.y - least.y;
  std::sort(groups.begin() + static_cast<std::ptrdiff_t>(first),
            groups.begin() + static_cast<std::ptrdiff_t>(end),
            [&](std::uint32_t a, std::uint32_t b) {
              return comes_first(place_[a], place_[b], by_columns) ||
                     (!comes_first(place_[b], place_[a], by_columns) && a < b);
            });
  const std::uint32_t first_ranks = ranks / 2;
  const double wanted = static_cast<double>(load) * first_ranks / static_cast<double>(ranks);
  std::size_t middle = first;
  double before = 0;
  while (middle < end - (ranks - first_ranks) &&
         (middle < first + first_ranks ||
          before + static_cast<double>(load_[groups[middle]]) / 2 < wanted)) {
    before += static_cast<double>(load_[groups[middle++]]);
  }
  bisect(groups, first, middle, rank, first_ranks, owners);
  bisect(groups, middle, end, rank + first_ranks, ranks - first_ranks, owners);
}

// [groups] load with that of nodes without a role, which those share whose messages go through.
std::vector<std::uint64_t> PlanCuts::burden() const {
  std::vector<std::uint64_t> burden = load_;
  for (auto touch = touched_.begin(); touch != touched_.end();) {
    const std::uint32_t node = touch->node;
    const auto end =
        std::find_if(touch, touched_.end(), [&](const Touch& other) { return other.node != node; });
    const double all = std::accumulate(touch, end, 1e-9, [](double sum, const Touch& one) {
      return sum + static_cast<double>(one.events);
    });
    const auto weight = static_cast<double>(weights_.of(node));
    for (; touch != end; ++touch) {
      burden[touch->group] +=
          static_cast<std::uint64_t>(weight * static_cast<double>(touch->events) / all);
    }
  }
  return burden;
}

// By place, somewhat uneven where fewer messages then cross.
PlanCuts::Owners PlanCuts::where_few_cross(std::uint32_t ranks) const {
  return cut_where_few_cross(graph_, burden(), place_, ranks);
}

// Of a tensor group, or of a channel at a node without a role; else none.
std::uint32_t PlanCuts::vertex_of(std::uint32_t node) const {
  const std::uint32_t group = traffic_.group_at(node);
  if (group != PlanTraffic::none) {
    return group;
  }
  const auto found = std::lower_bound(channel_node_.begin(), channel_node_.end(), node);
  return found != channel_node_.end() && *found == node
             ? traffic_.groups() + static_cast<std::uint32_t>(found - channel_node_.begin())
             : PlanTraffic::none;
}

// Adds up edges with the same ends from `first` on.
void PlanCuts::merge_edges(std::vector<Edge>& edges, std::size_t first) {
  const auto begin = edges.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, edges.end(), [](const Edge& a, const Edge& b) { return a.ends() < b.ends(); });
  auto last = begin;
  for (auto next = begin; next != edges.end(); ++next) {
    if (next != begin && last->ends() == next->ends()) {
      last->messages += next->messages;
    } else {
      last = next == begin ? begin : last + 1;
      *last = *next;
    }
  }
  if (begin != edges.end()) {
    edges.erase(last + 1, edges.end());
  }
}

// An edge between groups that follow each other on a route weighs the messages on it.
machine::WeightedGraph PlanCuts::make_graph() const {
  std::vector<Edge> edges;
  for (std::size_t stage = 0; stage < traffic_.stages(); ++stage) {
    const std::size_t first = edges.size();
    for (const PlanTraffic::Flow& flow : traffic_.flows(stage)) {
      std::uint32_t last = PlanTraffic::none;
      for (const std::uint32_t node : traffic_.route(flow)) {
        const std::uint32_t vertex = vertex_of(node);
        if (vertex != PlanTraffic::none && last != PlanTraffic::none && vertex != last) {
          const std::uint64_t messages = flow.messages * traffic_.runs(flow.job);
          edges.push_back({last, vertex, messages});
          edges.push_back({vertex, last, messages});
        }
        last = vertex == PlanTraffic::none ? last : vertex;
      }
    }
    merge_edges(edges, first);
  }
  merge_edges(edges, 0);
  machine::WeightedGraph graph;
  graph.vertex_weights = load_;
  for (const std::uint32_t node : channel_node_) {
    graph.vertex_weights.push_back(weights_.of(node));
  }
  auto next = edges.begin();
  for (std::uint32_t vertex = 0; vertex < graph.vertex_weights.size(); ++vertex) {
    for (; next != edges.end() && next->from == vertex; ++next) {
      graph.neighbours.push_back(next->to);
      graph.edge_weights.push_back(next->messages);
    }
    graph.first.push_back(graph.neighbours.size());
  }
  return graph;
}

PlanCuts::Owners PlanCuts::by_traffic(std::uint32_t ranks) const {
  return machine::cut_graph(graph_, ranks);
}

machine::Owners PlanCuts::owner_of_nodes(const Owners& owners) const {
  SparseTable owner(experiment_.machine.topology->nodes(), no_owner);
  traffic_.visit_groups(
      [&](std::size_t node, std::uint32_t group) { owner.set(node, owners[group]); });
  for (std::size_t i = traffic_.groups(); i < owners.size(); ++i) {
    owner.set(channel_node_[i - traffic_.groups()], owners[i]);
  }
  std::map<std::uint32_t, std::uint64_t> votes;
  for (auto touch = touched_.begin(); touch != touched_.end();) {
    const std::uint32_t node = touch->node;
    votes.clear();
    for (; touch != touched_.end() && touch->node == node; ++touch) {
      votes[owners[touch->group]] += touch->events;
    }
    if (owner[node] == no_owner) {
      const auto most =
          std::max_element(votes.begin(), votes.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      owner.set(node, most->first);
    }
  }
  return give_idle_nodes(*experiment_.machine.topology, owner);
}

std::vector<PlanCuts::Cut> PlanCuts::ways(const std::string& name, int ranks) const {
  const auto wanted = static_cast<std::uint32_t>(ranks);
  std::vector<Owners> found;
  const std::vector<std::uint32_t> one_stage(traffic_.stages(), 0);
  const std::vector<std::uint32_t> one_replica(traffic_.data(), 0);
  if (name == "stages") {
    for (const Dealing dealing : {Dealing::runs, Dealing::turns}) {
      if (const auto stages = parts_of_stages(wanted, dealing); !stages.empty()) {
        found.push_back(product(stages, one_replica, 1));
      }
    }
  } else if (name == "replicas") {
    for (const Order order : {Order::number, Order::columns, Order::rows}) {
      if (const auto replicas = parts_of_replicas(wanted, order); !replicas.empty()) {
        found.push_back(product(one_stage, replicas, wanted));
      }
    }
  } else if (name == "stages-replicas") {
    for (std::uint32_t runs = 2; runs < wanted; ++runs) {
      if (wanted % runs != 0) {
        continue;
      }
      const auto replicas = parts_of_replicas(wanted / runs, Order::columns);
      for (const Dealing dealing : {Dealing::runs, Dealing::turns}) {
        if (const auto stages = parts_of_stages(runs, dealing);
            !stages.empty() && !replicas.empty()) {
          found.push_back(product(stages, replicas, wanted / runs));
        }
      }
    }
  } else if (traffic_.groups() >= wanted) {
    if (name == "groups") {
      found.push_back(in_order(Order::columns, wanted));
      found.push_back(in_order(Order::rows, wanted));
      std::vector<std::uint32_t> groups(load_.size());
      std::iota(groups.begin(), groups.end(), 0);
      Owners owners(groups.size());
      bisect(groups, 0, groups.size(), 0, wanted, owners);
      found.push_back(std::move(owners));
      found.push_back(where_few_cross(wanted));
    } else {
      found.push_back(by_traffic(wanted));
    }
  }
  std::vector<Cut> ways;
  for (const Owners& owners : found) {
    const bool is_new = std::find(found.begin(), found.begin() + (&owners - found.data()),
                                  owners) == found.begin() + (&owners - found.data());
    if (is_new) {
      ways.push_back({name, owner_of_nodes(owners)});
    }
  }
  return ways;
}

std::vector<PlanCuts::Cut> PlanCuts::all(int ranks) const {
  std::vector<Cut> cuts;
  for (const std::string& name : names()) {
    for (Cut& way : ways(name, ranks)) {
      cuts.push_back(std::move(way));
    }
  }
  return cuts;
}

Replay PlanCuts::predict(const machine::Owners& owner, int ranks) const {
  return replay_cut(times_, CutWork(traffic_, owner, ranks), ranks);
}

}  // namespace tessera::sim
