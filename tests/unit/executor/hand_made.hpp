// Graphs made by hand, and runs of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::executor::hand_made {

using collective::Kind;
using testing::Outcome;
using workload::GraphAction;
using workload::GraphNode;

inline constexpr std::int64_t us = 1'000'000;

class ListSource final : public workload::GraphSource {
 public:
  explicit ListSource(std::vector<std::vector<GraphNode>> graphs, workload::GraphGroups groups = {})
      : graphs_(std::move(graphs)), groups_(std::move(groups)) {}
  std::uint32_t npus() const override { return static_cast<std::uint32_t>(graphs_.size()); }
  std::vector<GraphNode> read(std::uint32_t npu, workload::GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> nodes;
    for (; nodes.size() < most && position.nodes < graphs_[npu].size(); ++position.nodes) {
      nodes.push_back(graphs_[npu][position.nodes]);
    }
    return nodes;
  }
  std::string name_of(std::uint32_t npu) const override { return "graph " + std::to_string(npu); }
  const workload::GraphGroups& groups() const override { return groups_; }
  std::uint32_t iterations() const override {
    return graphs_[0].empty() ? 1 : graphs_[0].back().iteration + 1;
  }

 private:
  std::vector<std::vector<GraphNode>> graphs_;
  workload::GraphGroups groups_;
};

inline GraphNode node(std::uint64_t id, GraphAction action, std::vector<std::uint64_t> after = {}) {
  GraphNode node;
  node.id = id;
  node.name = "n" + std::to_string(id);
  node.action = action;
  node.data_dependencies = std::move(after);
  return node;
}

// At 1 TFLOP/s a FLOP takes a picosecond.
inline GraphNode compute(std::uint64_t id, std::int64_t ps, std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, GraphAction::compute, std::move(after));
  result.flops = Flops(static_cast<std::uint64_t>(ps));
  return result;
}

inline GraphNode host(std::uint64_t id, std::int64_t ps, std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, GraphAction::compute, std::move(after));
  result.on_host = true;
  result.recorded_duration = SimTime::from_ps(ps);
  return result;
}

inline GraphNode message(std::uint64_t id, GraphAction action, std::uint32_t peer,
                         std::uint64_t bytes, std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, action, std::move(after));
  result.peer = peer;
  result.bytes = Bytes(bytes);
  result.tag = 7;
  return result;
}

inline GraphNode collective(std::uint64_t id, std::uint64_t bytes,
                            std::vector<std::uint64_t> after = {}, Kind kind = Kind::all_reduce) {
  GraphNode result = node(id, GraphAction::collective, std::move(after));
  result.collective = kind;
  result.bytes = Bytes(bytes);
  return result;
}

// Links of 10 GB/s, a byte in 100 ps, and 1 us.
inline machine::Machine stack(const std::string& shape) {
  config::Diagnostics diagnostics;
  const auto dimensions = static_cast<std::size_t>(std::count(shape.begin(), shape.end(), '('));
  std::string each;
  for (std::size_t d = 0; d < dimensions; ++d) {
    each += std::string(d > 0 ? ", " : "") + "{bandwidth: 10 GB/s, latency: 1 us}";
  }
  const std::string text = "topology: {kind: stack, shape: " + shape + ", dimensions: [" + each +
                           "]}\ntile: {peak: {fp16: 1 TFLOP/s}}\n";
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  return *std::move(machine);
}

inline GraphWork work_on(const machine::Machine& machine,
                         std::vector<std::vector<GraphNode>> graphs,
                         workload::GraphGroups groups = {}) {
  GraphWork work;
  for (std::uint32_t npu = 0; npu < graphs.size(); ++npu) {
    work.nodes.emplace_back(npu);
    for (const GraphNode& one : graphs[npu]) {
      if (work.name_numbers.try_emplace(one.name, work.names.size()).second) {
        work.names.push_back(one.name);
      }
    }
  }
  work.names.emplace_back("other");
  std::vector<std::uint32_t> all;
  for (std::uint32_t npu = 0; npu < graphs.size(); ++npu) {
    all.push_back(npu);
  }
  work.groups.push_back({"", all});
  for (const auto& [name, members] : groups) {
    work.group_numbers[name] = static_cast<std::uint32_t>(work.groups.size());
    work.groups.push_back({name, members});
  }
  for (const machine::StackDimension& dimension : machine.topology->stack()->dimensions()) {
    work.options.dimensions.push_back(
        {dimension.size, Bandwidth::bytes_per_second(10'000'000'000U)});
    work.options.algorithms.emplace_back("ring");
    work.options.step_costs.emplace_back();
  }
  work.source = std::make_unique<ListSource>(std::move(graphs), std::move(groups));
  return work;
}

inline Outcome run(const machine::Machine& machine, const GraphWork& work, int ranks = 1,
                   std::uint32_t iterations = 1, SimTime overhead = SimTime::zero(),
                   testing::Cut* kept = nullptr, const testing::Cut* resumed = nullptr) {
  return testing::execute_by(
      machine, {}, "network: {model: analytical}", ranks,
      [&](std::span<const EntityId> members, testing::Noted* noted,
          const network::NetworkModel& network, const compute::ComputeModel& compute) {
        const std::shared_ptr<const machine::Routing> routing =
            machine::make_routing(network.routing(), *machine.topology);
        return make_graph_executor(
            {machine,
             work,
             members,
             [&](EntityId node, const workload::Operation& operation, bool) {
               return compute.duration(machine, machine.tile_of(node), operation);
             },
             [&machine, &network, routing](EntityId from, EntityId to, Bytes bytes) {
               return network.idle_time(
                   machine::path_between(*machine.topology, *routing, from, to), bytes);
             },
             [](Bytes bytes, bool) {
               return SimTime::from_ps(static_cast<std::int64_t>(bytes.count()));
             },
             iterations,
             {overhead, {}, {}},
             network.lumps_rings(),
             3,
             0,
             1,
             noted});
      },
      kept, resumed);
}

inline std::map<std::string, std::pair<std::int64_t, std::int64_t>> times_of(const GraphWork& work,
                                                                             const Outcome& outcome,
                                                                             std::uint32_t npu) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> times;
  for (const OperatorRecord& record : outcome.noted.operators) {
    if (record.tile == EntityId(npu)) {
      times[work.names[record.name]] = {record.start.ps(), record.end.ps()};
    }
  }
  return times;
}

inline std::int64_t spent(const Outcome& outcome, std::uint32_t npu, Activity activity) {
  for (const TileResult& tile : outcome.tiles) {
    if (tile.role == npu) {
      return tile.time[static_cast<std::size_t>(activity)].ps();
    }
  }
  return -1;
}

// 2 (n - 1) steps of a quarter of the vector each.
constexpr std::int64_t all_reduce_of_four(std::int64_t bytes) {
  return 6 * (us + bytes / 4 * 100);
}

}  // namespace tessera::executor::hand_made
