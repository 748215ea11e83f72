// Collectives of graphs written by hand, whose times can be computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hand_made.hpp"
#include "harness.hpp"
#include "tessera/collective/compat/astra.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor::graph_collectives_test {
namespace {

using collective::Kind;
using hand_made::all_reduce_of_four;
using hand_made::collective;
using hand_made::compute;
using hand_made::message;
using hand_made::node;
using hand_made::run;
using hand_made::spent;
using hand_made::stack;
using hand_made::times_of;
using hand_made::us;
using hand_made::work_on;
using testing::Outcome;
using workload::GraphNode;

TEST(GraphCollectives, CollectivesRunBesideComputing) {
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
TEST(GraphCollectives, CollectivesInTheirLaneGoInOrderOrTheNewestFirst) {
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
TEST(GraphCollectives, ProtocolsFollowTheSizeOfTheVector) {
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
TEST(GraphCollectives, AllToAllWithASizeForEachPair) {
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

TEST(GraphCollectives, MembersOfACollectiveWaitForTheLast) {
  const machine::Machine machine = stack("Ring(4)");
  std::vector<std::vector<GraphNode>> graphs(4, {collective(1, 40'000)});
  graphs[2] = {compute(1, 50 * us), collective(2, 40'000, {1})};
  const Outcome outcome = run(machine, work_on(machine, graphs));
  EXPECT_EQ(outcome.end.ps(), 50 * us + all_reduce_of_four(40'000));
}

// NPUs 0 and 2 of a ring of four are no neighbours; 0 to 3 of a stack of 2 x 4 are no box.
TEST(GraphCollectives, CommunicatorsOfAnyMembers) {
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
TEST(GraphCollectives, CollectivesTakeTheirOverhead) {
  const machine::Machine machine = stack("FC(4)");
  const std::vector<GraphNode> graph{collective(0, 40'000), collective(1, 40'000, {0})};
  const GraphWork work = work_on(machine, {graph, graph, graph, graph});
  const SimTime overhead = SimTime::from_ps(123'000);
  EXPECT_EQ(run(machine, work, 1, 1, overhead).end, run(machine, work).end + overhead * 2);
  EXPECT_EQ(run(machine, work, 2, 1, overhead).end, run(machine, work, 1, 1, overhead).end);
}

// The public code of ASTRA-sim 2.0 knows no dimensions but those of all NPUs: an all-reduce of the
// four of a plane takes six steps round a ring, and an all-to-all six from neighbour to neighbour.
TEST(GraphCollectives, GroupsAreFlatRingsAsAstra) {
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

TEST(GraphCollectives, SomeDimensionsOnly) {
  const machine::Machine machine = stack("Ring(2)_Ring(4)");
  std::vector<GraphNode> graph{collective(1, 40'000)};
  graph[0].dimensions = {false, true};
  const Outcome outcome =
      run(machine, work_on(machine, std::vector<std::vector<GraphNode>>(8, graph)));
  EXPECT_EQ(outcome.end.ps(), all_reduce_of_four(40'000));
}

}  // namespace
}  // namespace tessera::executor::graph_collectives_test
