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
#include "hand_made.hpp"
#include "harness.hpp"
#include "tessera/collective/compat/astra.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::executor::graph_test {
namespace {

using collective::Kind;
using hand_made::all_reduce_of_four;
using hand_made::collective;
using hand_made::compute;
using hand_made::host;
using hand_made::message;
using hand_made::node;
using hand_made::run;
using hand_made::spent;
using hand_made::stack;
using hand_made::times_of;
using hand_made::us;
using hand_made::work_on;
using ::testing::HasSubstr;
using testing::Outcome;
using workload::GraphAction;
using workload::GraphNode;

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
