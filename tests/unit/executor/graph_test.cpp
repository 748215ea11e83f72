// Graphs written by hand, whose times can be computed by hand.
#include "tessera/executor/graph/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "goes_on.hpp"
#include "graph/tasks.hpp"
#include "harness.hpp"
#include "tessera/collective/compat/astra.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::executor::graph_test {
namespace {

using collective::Kind;
using ::testing::HasSubstr;
using testing::Outcome;
using workload::GraphAction;
using workload::GraphNode;

constexpr std::int64_t us = 1'000'000;

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

GraphNode node(std::uint64_t id, GraphAction action, std::vector<std::uint64_t> after = {}) {
  GraphNode node;
  node.id = id;
  node.name = "n" + std::to_string(id);
  node.action = action;
  node.data_dependencies = std::move(after);
  return node;
}

// At 1 TFLOP/s a FLOP takes a picosecond.
GraphNode compute(std::uint64_t id, std::int64_t ps, std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, GraphAction::compute, std::move(after));
  result.flops = Flops(static_cast<std::uint64_t>(ps));
  return result;
}

GraphNode host(std::uint64_t id, std::int64_t ps, std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, GraphAction::compute, std::move(after));
  result.on_host = true;
  result.recorded_duration = SimTime::from_ps(ps);
  return result;
}

GraphNode message(std::uint64_t id, GraphAction action, std::uint32_t peer, std::uint64_t bytes,
                  std::vector<std::uint64_t> after = {}) {
  GraphNode result = node(id, action, std::move(after));
  result.peer = peer;
  result.bytes = Bytes(bytes);
  result.tag = 7;
  return result;
}

GraphNode collective(std::uint64_t id, std::uint64_t bytes, std::vector<std::uint64_t> after = {},
                     Kind kind = Kind::all_reduce) {
  GraphNode result = node(id, GraphAction::collective, std::move(after));
  result.collective = kind;
  result.bytes = Bytes(bytes);
  return result;
}

// Links of 10 GB/s, a byte in 100 ps, and 1 us.
machine::Machine stack(const std::string& shape) {
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

GraphWork work_on(const machine::Machine& machine, std::vector<std::vector<GraphNode>> graphs,
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

Outcome run(const machine::Machine& machine, const GraphWork& work, int ranks = 1,
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

std::map<std::string, std::pair<std::int64_t, std::int64_t>> times_of(const GraphWork& work,
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

std::int64_t spent(const Outcome& outcome, std::uint32_t npu, Activity activity) {
  for (const TileResult& tile : outcome.tiles) {
    if (tile.role == npu) {
      return tile.time[static_cast<std::size_t>(activity)].ps();
    }
  }
  return -1;
}

TEST(Graph, NodesWaitForWhatTheyDependOnAndForTheirLane) {
  const machine::Machine machine = stack("Ring(2)");
  // 2 and 3 are ready together and share a lane; the host goes on beside them.
  const GraphWork work =
      work_on(machine, {{compute(1, 5 * us), compute(3, 2 * us, {1}), compute(2, 3 * us, {1}),
                         host(4, 1 * us, {1}), compute(5, us, {2, 3})},
                        {}});
  const Outcome outcome = run(machine, work);
  auto times = times_of(work, outcome, 0);
  EXPECT_EQ(times["n1"], (std::pair<std::int64_t, std::int64_t>(0, 5 * us)));
  EXPECT_EQ(times["n2"], (std::pair<std::int64_t, std::int64_t>(5 * us, 8 * us)));
  EXPECT_EQ(times["n3"], (std::pair<std::int64_t, std::int64_t>(8 * us, 10 * us)));
  EXPECT_EQ(times["n4"], (std::pair<std::int64_t, std::int64_t>(5 * us, 6 * us)));
  EXPECT_EQ(times["n5"], (std::pair<std::int64_t, std::int64_t>(10 * us, 11 * us)));
  EXPECT_EQ(outcome.unfinished, 0U);
  EXPECT_EQ(outcome.instructions, 5U);
  EXPECT_EQ(spent(outcome, 0, Activity::compute), 11 * us);
}

TEST(Graph, LanesHoldAsManyAsTheyMay) {
  const machine::Machine machine = stack("Ring(2)");
  GraphWork work = work_on(machine, {{compute(1, 5 * us), compute(2, 3 * us), compute(3, us)}, {}});
  work.options.slots[static_cast<std::size_t>(Lane::compute)] = 2;
  EXPECT_EQ(run(machine, work).end.ps(), 5 * us);
  work.options.slots[static_cast<std::size_t>(Lane::compute)] = 0;
  auto times = times_of(work, run(machine, work), 0);
  EXPECT_EQ(times["n3"].first, 0);
}

// A graph that holds two iterations, run twice.
TEST(Graph, RecordsCountIterationsInsideAndOutside) {
  const machine::Machine machine = stack("Ring(2)");
  std::vector<GraphNode> graph{compute(1, us), compute(2, us, {1})};
  graph[1].iteration = 1;
  const GraphWork work = work_on(machine, {graph, {}});
  const Outcome outcome = run(machine, work, 1, 2);
  std::vector<std::uint32_t> iterations;
  for (const OperatorRecord& record : outcome.noted.operators) {
    iterations.push_back(record.micro_batch);
  }
  EXPECT_THAT(iterations, ::testing::ElementsAre(0U, 1U, 2U, 3U));
}

TEST(Graph, PriorityComesBeforeNumber) {
  const machine::Machine machine = stack("Ring(2)");
  std::vector<GraphNode> graph{compute(1, us), compute(2, us), compute(3, us)};
  graph[2].priority = 1;
  const GraphWork work = work_on(machine, {graph, {}});
  auto times = times_of(work, run(machine, work), 0);
  EXPECT_EQ(times["n3"].first, 0);
  EXPECT_EQ(times["n1"].first, us);
}

TEST(Graph, MessagesAreTakenWhenTheyCome) {
  const machine::Machine machine = stack("Ring(2)");
  // 10 kB take 1 us of latency and 1 us at the link.
  const GraphWork work =
      work_on(machine, {{compute(1, 3 * us), message(2, GraphAction::send, 1, 10'000, {1})},
                        {message(1, GraphAction::receive, 0, 10'000), compute(2, us, {1})}});
  const Outcome outcome = run(machine, work);
  EXPECT_EQ(outcome.end.ps(), 6 * us);
  EXPECT_EQ(spent(outcome, 1, Activity::message), 5 * us);
  EXPECT_EQ(spent(outcome, 1, Activity::compute), us);
}

TEST(Graph, MessagesWaitForTheirReceiver) {
  const machine::Machine machine = stack("Ring(2)");
  const GraphWork work =
      work_on(machine, {{message(1, GraphAction::send, 1, 10'000)},
                        {compute(1, 9 * us), message(2, GraphAction::receive, 0, 10'000, {1}),
                         compute(3, us, {2})}});
  const Outcome outcome = run(machine, work);
  EXPECT_EQ(outcome.end.ps(), 10 * us);
  EXPECT_EQ(spent(outcome, 1, Activity::message), 0);
}

// When a message was sent, when it came, and when the receiver got to it; on any number of ranks.
TEST(Graph, MessagesAreHeardOf) {
  const machine::Machine machine = stack("Ring(4)");
  const std::vector<GraphNode> waits{compute(1, 9 * us),
                                     message(2, GraphAction::receive, 0, 10'000, {1}),
                                     message(3, GraphAction::receive, 0, 20'000, {2})};
  const GraphWork work =
      work_on(machine, {{compute(1, us), message(2, GraphAction::send, 1, 10'000, {1}),
                         compute(3, 20 * us, {2}), message(4, GraphAction::send, 1, 20'000, {3})},
                        waits,
                        {},
                        {}});
  for (const int ranks : {1, 2, 3}) {
    const Outcome outcome = run(machine, work, ranks);
    const std::vector<MessageRecord>& messages = outcome.noted.messages;
    ASSERT_EQ(messages.size(), 2U) << ranks;
    EXPECT_EQ(messages[0].source, EntityId(0));
    EXPECT_EQ(messages[0].target, EntityId(1));
    EXPECT_EQ(messages[0].traffic, plan::Traffic::message);
    EXPECT_EQ(messages[0].bytes, Bytes(10'000));
    EXPECT_EQ(messages[0].sent.ps(), us);
    EXPECT_EQ(messages[0].arrived.ps(), 3 * us);
    EXPECT_EQ(messages[0].taken.ps(), 9 * us);
    EXPECT_EQ(messages[1].sent.ps(), 21 * us);
    EXPECT_EQ(messages[1].arrived.ps(), 24 * us);
    EXPECT_EQ(messages[1].taken.ps(), 24 * us);
    EXPECT_EQ(outcome.end.ps(), 24 * us);
    EXPECT_EQ(outcome.balanced("messages sent and received"), messages.size());
    EXPECT_EQ(outcome.balanced("bytes of messages sent and received"),
              outcome.bytes(plan::Traffic::message));
  }
}

// A member that begins late finds messages that have come.
TEST(Graph, MessagesOfCollectivesAreHeardOf) {
  const machine::Machine machine = stack("Ring(4)");
  const std::vector<GraphNode> prompt{collective(2, 40'000)};
  const GraphWork work =
      work_on(machine, {prompt, {compute(1, 7 * us), collective(2, 40'000, {1})}, prompt, prompt});
  const Outcome expected = run(machine, work);
  ASSERT_EQ(expected.noted.messages.size(), 4U * 6U);  // a ring's steps, of every member
  EXPECT_EQ(expected.balanced("all_reduce bytes sent and received"), 4U * 6U * 10'000U);
  EXPECT_EQ(expected.bytes(plan::Traffic::collective), 4U * 6U * 10'000U);
  std::size_t waited = 0;
  for (const MessageRecord& record : expected.noted.messages) {
    EXPECT_EQ((record.arrived - record.sent).ps(), 2 * us);
    EXPECT_EQ(record.target.value(), (record.source.value() + 1) % 4);
    waited += record.taken > record.arrived ? 1 : 0;
  }
  EXPECT_GT(waited, 0U);
  for (const int ranks : {2, 4}) {
    const Outcome outcome = run(machine, work, ranks);
    EXPECT_EQ(outcome.end, expected.end);
    EXPECT_EQ(outcome.noted.messages.size(), expected.noted.messages.size());
  }
}

// 2 (n - 1) steps of a quarter of the vector each.
constexpr std::int64_t all_reduce_of_four(std::int64_t bytes) {
  return 6 * (us + bytes / 4 * 100);
}

TEST(Graph, CollectivesRunBesideComputing) {
  const machine::Machine machine = stack("Ring(4)");
  std::vector<std::vector<GraphNode>> graphs;
  for (std::uint32_t npu = 0; npu < 4; ++npu) {
    graphs.push_back({collective(1, 40'000), compute(2, 5 * us), compute(3, us, {1, 2})});
  }
  const GraphWork work = work_on(machine, graphs);
  for (const int ranks : {1, 2, 3}) {
    const Outcome outcome = run(machine, work, ranks);
    EXPECT_EQ(outcome.unfinished, 0U);
    EXPECT_EQ(outcome.end.ps(), all_reduce_of_four(40'000) + us);
    EXPECT_EQ(spent(outcome, 2, Activity::compute), 6 * us);
    EXPECT_EQ(spent(outcome, 2, Activity::collective), all_reduce_of_four(40'000) - 5 * us);
  }
}

// Behind a first one all others wait for the lane.
TEST(Graph, CollectivesInTheirLaneGoInOrderOrTheNewestFirst) {
  const machine::Machine machine = stack("Ring(4)");
  const std::vector<std::vector<GraphNode>> graphs(
      4, {collective(1, 40'000), collective(2, 40'000, {5}), collective(3, 40'000, {5}),
          collective(4, 40'000, {5}), compute(5, us)});
  GraphWork work = work_on(machine, graphs);
  work.options.slots[static_cast<std::size_t>(Lane::collective)] = 1;
  const std::int64_t each = all_reduce_of_four(40'000);
  auto times = times_of(work, run(machine, work), 1);
  EXPECT_EQ(times["n2"].second, 2 * each);
  EXPECT_EQ(times["n4"].second, 4 * each);
  work.options.newest_collective_first = true;
  times = times_of(work, run(machine, work), 1);
  EXPECT_EQ(times["n1"].second, each);
  EXPECT_EQ(times["n4"].second, 2 * each);
  EXPECT_EQ(times["n2"].second, 4 * each);
}

// Messages of small vectors are twice their data, those of large ones have a delay each.
TEST(Graph, ProtocolsFollowTheSizeOfTheVector) {
  const machine::Machine machine = stack("Ring(4)");
  const auto end = [&](std::uint64_t bytes, Kind kind) {
    const std::vector<std::vector<GraphNode>> graphs(4, {collective(1, bytes, {}, kind)});
    GraphWork work = work_on(machine, graphs);
    work.options.protocols = {{Bytes(40'000), SimTime::zero(), 500'000},
                              {Bytes(0), SimTime::from_ps(us), 1'000'000}};
    return run(machine, work).end.ps();
  };
  EXPECT_EQ(end(40'000, Kind::all_reduce), all_reduce_of_four(80'000));
  EXPECT_EQ(end(40'004, Kind::all_reduce), all_reduce_of_four(40'004) + 7 * us);
  // The part of a member; what it ends with decides.
  EXPECT_EQ(end(10'000, Kind::all_gather), 3 * (us + 20'000 * 100));
  EXPECT_EQ(end(10'001, Kind::all_gather), 3 * (us + 10'001 * 100) + 4 * us);
}

// NPU 0 sends 10 kB to 1 and nothing to 2, 1 sends 20 kB to 2, 2 sends 30 kB to 0, each to a
// neighbour; messages of nothing take the latency.
TEST(Graph, AllToAllWithASizeForEachPair) {
  const machine::Machine machine = stack("Ring(3)");
  const std::vector<std::vector<Bytes>> parts{{Bytes(5), Bytes(10'000), Bytes(0)},
                                              {Bytes(0), Bytes(5), Bytes(20'000)},
                                              {Bytes(30'000), Bytes(0), Bytes(5)}};
  std::vector<std::vector<GraphNode>> graphs;
  for (const std::vector<Bytes>& own : parts) {
    GraphNode one = collective(1, 0, {}, Kind::all_to_all);
    one.parts = own;
    graphs.push_back({one});
  }
  const GraphWork work = work_on(machine, graphs);
  for (const int ranks : {1, 3}) {
    const Outcome outcome = run(machine, work, ranks);
    EXPECT_EQ(outcome.unfinished, 0U);
    auto times = times_of(work, outcome, 0);
    EXPECT_EQ(times["n1"].second, us + 30'000 * 100);
    EXPECT_EQ(times_of(work, outcome, 1)["n1"].second, us + 10'000 * 100);
    EXPECT_EQ(times_of(work, outcome, 2)["n1"].second, us + 20'000 * 100);
  }
}

TEST(Graph, MembersOfACollectiveWaitForTheLast) {
  const machine::Machine machine = stack("Ring(4)");
  std::vector<std::vector<GraphNode>> graphs(4, {collective(1, 40'000)});
  graphs[2] = {compute(1, 50 * us), collective(2, 40'000, {1})};
  const Outcome outcome = run(machine, work_on(machine, graphs));
  EXPECT_EQ(outcome.end.ps(), 50 * us + all_reduce_of_four(40'000));
}

// NPUs 0 and 2 of a ring of four are no neighbours; 0 to 3 of a stack of 2 x 4 are no box.
TEST(Graph, CommunicatorsOfAnyMembers) {
  const machine::Machine machine = stack("Ring(2)_Ring(4)");
  const std::vector<std::vector<std::uint32_t>> groups{
      {0, 2}, {1, 3, 5, 7}, {0, 1, 2}, {6, 4, 3}, {5}};
  for (const std::vector<std::uint32_t>& members : groups) {
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      std::vector<std::vector<GraphNode>> graphs(8);
      for (const std::uint32_t npu : members) {
        GraphNode one = collective(1, 1000, {}, static_cast<Kind>(kind));
        one.group = "some";
        one.root = static_cast<std::uint32_t>(members.size() - 1);
        GraphNode other = one;
        other.id = 2;
        graphs[npu] = {one, other};
      }
      const GraphWork work = work_on(machine, graphs, {{"some", members}});
      const Outcome outcome = run(machine, work);
      EXPECT_EQ(outcome.unfinished, 0U) << kind;
      EXPECT_EQ(outcome.end > SimTime::zero(), members.size() > 1) << kind;
      EXPECT_EQ(run(machine, work, 3).end, outcome.end) << kind;
    }
  }
}

// Every member of a collective takes it before its first message, one behind the other.
TEST(Graph, CollectivesTakeTheirOverhead) {
  const machine::Machine machine = stack("FC(4)");
  const std::vector<GraphNode> graph{collective(0, 40'000), collective(1, 40'000, {0})};
  const GraphWork work = work_on(machine, {graph, graph, graph, graph});
  const SimTime overhead = SimTime::from_ps(123'000);
  EXPECT_EQ(run(machine, work, 1, 1, overhead).end, run(machine, work).end + overhead * 2);
  EXPECT_EQ(run(machine, work, 2, 1, overhead).end, run(machine, work, 1, 1, overhead).end);
}

// The public code of ASTRA-sim 2.0 knows no dimensions but those of all NPUs: an all-reduce of the
// four of a plane takes six steps round a ring, and an all-to-all six from neighbour to neighbour.
TEST(Graph, GroupsAreFlatRingsAsAstra) {
  const machine::Machine machine = stack("FC(2)_FC(2)_FC(2)");
  const workload::GraphGroups groups{{"plane", {0, 1, 2, 3}}};
  for (const Kind kind : {Kind::all_reduce, Kind::all_to_all}) {
    GraphNode node = collective(0, 40'000, {}, kind);
    node.group = "plane";
    std::vector<std::vector<GraphNode>> graphs(8);
    for (std::uint32_t npu = 0; npu < 4; ++npu) {
      graphs[npu] = {node};
    }
    GraphWork planes = work_on(machine, graphs, groups);
    GraphWork ring = work_on(machine, graphs, groups);
    ring.options.collectives.conventions = &collective::astra_conventions();
    // 10 kB take 1 us and 1 us for each hop, of which 1 to 2 and 3 to 0 are two.
    EXPECT_EQ(run(machine, ring).end, SimTime::from_ps(15'000'000)) << static_cast<int>(kind);
    EXPECT_LT(run(machine, planes).end, run(machine, ring).end);
  }
}

TEST(Graph, SomeDimensionsOnly) {
  const machine::Machine machine = stack("Ring(2)_Ring(4)");
  std::vector<GraphNode> graph{collective(1, 40'000)};
  graph[0].dimensions = {false, true};
  const Outcome outcome =
      run(machine, work_on(machine, std::vector<std::vector<GraphNode>>(8, graph)));
  EXPECT_EQ(outcome.end.ps(), all_reduce_of_four(40'000));
}

TEST(Graph, DependenciesOnLaterNodes) {
  const machine::Machine machine = stack("Ring(2)");
  std::vector<GraphNode> graph;
  constexpr std::uint64_t count = 200;
  for (std::uint64_t id = 0; id < count; ++id) {
    graph.push_back(compute(
        id, us,
        id + 1 < count ? std::vector<std::uint64_t>{id + 1} : std::vector<std::uint64_t>{}));
  }
  GraphWork work = work_on(machine, {graph, {}});
  for (const std::uint32_t window : {1U, 7U, 512U}) {
    work.options.window = window;
    const Outcome outcome = run(machine, work);
    EXPECT_EQ(outcome.unfinished, 0U);
    EXPECT_EQ(outcome.end.ps(), static_cast<std::int64_t>(count) * us);
  }
}

// Nodes of three lanes that depend on any that came before, some on none and on one far back.
std::vector<GraphNode> tangled(std::uint64_t seed, std::uint64_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<GraphNode> graph;
  for (std::uint64_t id = 0; id < count; ++id) {
    std::vector<std::uint64_t> after;
    for (std::uint64_t left = id == 0 ? 0 : below(3); left > 0; --left) {
      after.push_back(below(4) == 0 ? below(id) : id - 1 - below(std::min<std::uint64_t>(id, 9)));
    }
    const auto ps = static_cast<std::int64_t>(1 + below(1000));
    switch (below(4)) {
      case 0:
        graph.push_back(node(id, GraphAction::nothing, after));
        break;
      case 1:
        graph.push_back(host(id, ps, after));
        break;
      default:
        graph.push_back(compute(id, ps, after));
    }
  }
  return graph;
}

TEST(Graph, WindowsBoundNoResults) {
  const machine::Machine machine = stack("Ring(2)");
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    GraphWork work = work_on(machine, {tangled(seed, 700), tangled(1000 + seed, 400)});
    work.options.window = 1'000'000;
    const Outcome whole = run(machine, work, 1, 2);
    EXPECT_EQ(whole.unfinished, 0U);
    for (const std::uint32_t window : {1U, 7U, 64U, 512U}) {
      work.options.window = window;
      const Outcome outcome = run(machine, work, 1, 2);
      EXPECT_EQ(outcome.end, whole.end) << "seed " << seed << ", window " << window;
      for (std::uint32_t npu = 0; npu < 2; ++npu) {
        EXPECT_EQ(times_of(work, outcome, npu), times_of(work, whole, npu))
            << "seed " << seed << ", window " << window;
      }
    }
  }
}

// A chain needs no more than a window at a time, however long it is.
TEST(Graph, ChainsAreReadPieceByPiece) {
  const machine::Machine machine = stack("Ring(2)");
  const auto bytes_with = [&](std::uint64_t count) {
    std::vector<GraphNode> graph{compute(0, us)};
    for (std::uint64_t id = 1; id < count; ++id) {
      graph.push_back(compute(id, us, {id - 1}));
    }
    GraphWork work = work_on(machine, {graph, {}});
    work.options.window = 16;
    GraphTasks tasks;
    std::vector<GraphTasks::Place> ready;
    tasks.read(work, 0, false, ready);
    while (!ready.empty()) {
      const GraphTasks::Place place = ready.back();
      ready.pop_back();
      tasks.begin(place);
      tasks.end(place, ready);
      tasks.read(work, 0, false, ready);
    }
    EXPECT_TRUE(tasks.all_over());
    return tasks.resident_bytes();
  };
  EXPECT_LT(bytes_with(40'000), 2 * bytes_with(1000));
}

// The fourth node is memory, 1 us away; 64 B take 6.4 ns. Only the store asks the two others, a
// trip of 2012.8 ns, before its 6336 B that follow the first line are acknowledged.
TEST(Graph, CoherentStoresInvalidateAndLoadsDoNot) {
  const machine::Machine machine = stack("FC(4)");
  const auto time_of = [&](GraphAction action) {
    GraphNode access = node(0, action);
    access.in_remote = true;
    access.bytes = Bytes(6400);
    GraphWork work = work_on(machine, {{access}, {}, {}});
    work.remote_of = std::vector<EntityId>(3, EntityId(3));
    memory::CoherenceOptions options;
    options.device_latency = SimTime::from_ps(50'000);
    options.sharers_millionths = 2 * Fraction::one;
    work.coherence = memory::Coherence(options);
    work.hits_in_channels = std::vector<bool>(3, false);
    const Outcome outcome = run(machine, work);
    EXPECT_EQ(outcome.unfinished, 0U);
    return times_of(work, outcome, 0).at("n0").second;
  };
  EXPECT_EQ(time_of(GraphAction::load), 1'006'400 + 50'000 + 1'640'000);
  EXPECT_EQ(time_of(GraphAction::store), 1'633'600 + 50'000 + 2'012'800 + 1'006'400);
}

TEST(Graph, Iterations) {
  const machine::Machine machine = stack("Ring(4)");
  std::vector<std::vector<GraphNode>> graphs(4, {collective(1, 40'000), compute(2, us, {1})});
  const Outcome outcome = run(machine, work_on(machine, graphs), 2, 3);
  EXPECT_EQ(outcome.end.ps(), 3 * (all_reduce_of_four(40'000) + us));
  EXPECT_EQ(outcome.instructions, 24U);
}

// Computing, messages that wait for their receiver and collectives, under way at the cut.
TEST(Graph, GoesOnFromACheckpoint) {
  const machine::Machine machine = stack("Ring(4)");
  std::vector<std::vector<GraphNode>> graphs;
  for (std::uint32_t npu = 0; npu < 4; ++npu) {
    const std::uint32_t next = (npu + 1) % 4;
    const std::uint32_t last = (npu + 3) % 4;
    graphs.push_back({compute(1, (npu + 1) * 3 * us), collective(2, 40'000, {1}),
                      compute(3, 7 * us, {1}),
                      message(4, GraphAction::send, next, 30'000 + npu, {1}),
                      message(5, GraphAction::receive, last, 30'000 + last, {3}),
                      host(6, 2 * us, {3}), collective(7, 20'000, {2, 6}, Kind::all_gather),
                      collective(8, 9'000, {3}, Kind::all_to_all), compute(9, us, {5, 7, 8})});
  }
  const GraphWork work = work_on(machine, graphs);
  testing::expect_goes_on(
      [&](int ranks, testing::Cut* kept, const testing::Cut* from) {
        return run(machine, work, ranks, 2, SimTime::from_ps(300'000), kept, from);
      },
      "a graph");
}

TEST(Graph, OppositeOrdersEndWithoutLimits) {
  const machine::Machine machine = stack("Ring(4)");
  GraphNode first = collective(1, 40'000);
  first.group = "a";
  GraphNode second = collective(2, 40'000);
  second.group = "b";
  std::vector<std::vector<GraphNode>> graphs(4, {first, second});
  graphs[1][0].id = 3;  // begins the other one first
  const workload::GraphGroups groups{{"a", {0, 1, 2, 3}}, {"b", {0, 1, 2, 3}}};
  GraphWork work = work_on(machine, graphs, groups);
  EXPECT_EQ(run(machine, work).unfinished, 0U);
  work.options.slots[static_cast<std::size_t>(Lane::collective)] = 1;
  const Outcome stuck = run(machine, work);
  EXPECT_EQ(stuck.unfinished, 4U);
  ASSERT_FALSE(stuck.waiting.empty());
  EXPECT_THAT(stuck.waiting.front(), HasSubstr("graph 0"));
  EXPECT_THAT(stuck.waiting.front(), HasSubstr("collective 0 of a"));
}

}  // namespace
}  // namespace tessera::executor::graph_test
