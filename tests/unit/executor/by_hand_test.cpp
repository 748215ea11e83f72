// Programs written by hand, whose times can be computed by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.hpp"
#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::executor::by_hand_test {
namespace {

using plan::Action;
using plan::Instruction;
using plan::Peer;
using plan::Phase;
using ::testing::AllOf;
using testing::execute;
using ::testing::HasSubstr;
using testing::Outcome;

// A row or ring of tiles of 1 TFLOP/s: a FLOP takes 1 ps.
machine::Machine row(int columns, const std::string& kind = "mesh",
                     const std::string& latency = "1 ns") {
  config::Diagnostics diagnostics;
  const std::string text =
      "topology: {kind: " + kind + ", rows: 1, columns: " + std::to_string(columns) +
      ", bandwidth: 10 GB/s, latency: " + latency + "}\ntile: {peak: {fp16: 1 TFLOP/s}}\n";
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  auto machine = machine::read_machine(section);
  diagnostics.throw_if_any();
  return *std::move(machine);
}

std::uint32_t add_operation(plan::Plan& plan, std::uint64_t flops) {
  workload::Operation operation;
  operation.flops = Flops(flops);
  plan.operations.push_back(operation);
  return static_cast<std::uint32_t>(plan.operations.size() - 1);
}

// Roles on the first tiles in number order; one stage for each program.
plan::Plan plan_of(const plan::Degrees& degrees, std::vector<plan::Program> programs,
                   std::uint32_t nodes) {
  plan::Plan plan;
  plan.strategy.degrees = degrees;
  std::vector<EntityId> tiles;
  for (std::uint32_t tile = 0; tile < degrees.tiles(); ++tile) {
    tiles.emplace_back(tile);
  }
  plan.placement = plan::Placement(degrees, tiles, nodes);
  plan.tensor_algorithm = collective::algorithms().at("ring")({});
  plan.data_algorithm = collective::algorithms().at("ring")({});
  plan.names = {"work", "receive activation"};
  plan.groups = plan::standard_groups(plan.strategy);
  for (plan::Program& program : programs) {
    plan::Stage stage;
    stage.program = std::move(program);
    for (auto& piece : stage.program.pieces) {
      for (Instruction& instruction : piece) {
        if (instruction.action == Action::execute) {
          instruction.operation = add_operation(plan, instruction.bytes);
        }
      }
    }
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

// The plan makes an operation of the FLOPs.
Instruction work(std::uint64_t flops) {
  Instruction instruction;
  instruction.bytes = flops;
  return instruction;
}

Instruction transfer(Action action, Peer peer, plan::Traffic traffic, std::uint64_t bytes = 0) {
  Instruction instruction;
  instruction.action = action;
  instruction.peer = peer;
  instruction.traffic = traffic;
  instruction.bytes = bytes;
  instruction.name = 1;
  return instruction;
}

Instruction all_reduce(std::uint64_t bytes, plan::Group group = plan::Group::tensor) {
  Instruction instruction;
  instruction.action = Action::collective;
  instruction.group = group;
  instruction.traffic = group == plan::Group::tensor ? plan::Traffic::tensor : plan::Traffic::data;
  instruction.collective = collective::Kind::all_reduce;
  instruction.bytes = bytes;
  return instruction;
}

plan::Program once(std::vector<Instruction> code) {
  plan::Program program;
  program.pieces = {std::move(code)};
  program.schedule = {{{Phase::forward, 0, 0}, 0}};
  return program;
}

void expect_breakdowns_add_up(const Outcome& outcome) {
  for (const TileResult& tile : outcome.tiles) {
    SimTime sum;
    for (const SimTime time : tile.time) {
      sum += time;
    }
    EXPECT_EQ(sum, tile.end) << "tile " << tile.tile.value();
    EXPECT_TRUE(tile.finished);
  }
}

SimTime spent(const TileResult& tile, Activity activity) {
  return tile.time[static_cast<std::size_t>(activity)];
}

// 2 (N - 1) steps of latency + chunk / bandwidth on an idle ring (Patarasuk, Yuan, 2009,
// doi:10.1016/j.jpdc.2008.09.002).
TEST(ByHand, ARingAllReduceTakesTheClosedForm) {
  for (const std::uint32_t members : {2U, 3U, 5U, 8U, 16U}) {
    for (const std::uint64_t chunk : {10ULL, 4096ULL, 50'000ULL}) {
      for (const plan::Group group : {plan::Group::tensor, plan::Group::data}) {
        const machine::Machine ring = row(static_cast<int>(members), "torus");
        const plan::Degrees degrees = group == plan::Group::tensor ? plan::Degrees{1, 1, members}
                                                                   : plan::Degrees{1, members, 1};
        const plan::Plan plan =
            plan_of(degrees, {once({all_reduce(chunk * members, group)})}, members);
        const Outcome outcome = execute(ring, plan);
        const auto step = static_cast<std::int64_t>(1000 + chunk * 100);
        EXPECT_EQ(outcome.end.ps(), 2 * (members - 1) * step) << members << ", " << chunk;
        expect_breakdowns_add_up(outcome);
        EXPECT_EQ(outcome.noted.messages.size(), members * 2 * (members - 1));
      }
    }
  }
}

// Down a row and back, without the long way from its end to its start: twice (n - 1) latencies and
// 2 (n - 1) chunks, for the chunks follow each other.
TEST(ByHand, ALineAllReduceTakesTheClosedForm) {
  for (const std::uint32_t members : {2U, 3U, 5U, 8U, 16U}) {
    for (const std::uint64_t chunk : {10ULL, 4096ULL, 50'000ULL}) {
      plan::Plan plan = plan_of({1, 1, members}, {once({all_reduce(chunk * members)})}, members);
      plan.tensor_algorithm = collective::algorithms().at("line")({});
      const Outcome outcome = execute(row(static_cast<int>(members)), plan);
      const auto wire = static_cast<std::int64_t>(chunk * 100);
      EXPECT_EQ(outcome.end.ps(), 2 * (members - 1) * (1000 + 2 * wire))
          << members << ", " << chunk;
      expect_breakdowns_add_up(outcome);
    }
  }
}

// Forward takes a millisecond, backward two; boundaries take next to nothing.
plan::Program pipeline_program(const std::string& schedule, std::uint32_t stage,
                               std::uint32_t stages, std::uint32_t micro_batches) {
  plan::Program program;
  program.pieces.resize(2);
  auto& forward = program.pieces[0];
  auto& backward = program.pieces[1];
  if (stage > 0) {
    forward.push_back(transfer(Action::receive, Peer::previous_stage, plan::Traffic::activation));
  }
  forward.push_back(work(1'000'000'000));
  if (stage + 1 < stages) {
    forward.push_back(transfer(Action::send, Peer::next_stage, plan::Traffic::activation));
    backward.push_back(transfer(Action::receive, Peer::next_stage, plan::Traffic::gradient));
  }
  backward.push_back(work(2'000'000'000));
  if (stage > 0) {
    backward.push_back(transfer(Action::send, Peer::previous_stage, plan::Traffic::gradient));
  }
  const plan::PipelineShape shape{stages, 1, micro_batches, true};
  for (const plan::Pass& pass : plan::schedules().at(schedule).passes(shape, stage)) {
    program.schedule.push_back({pass, pass.phase == Phase::forward ? 0U : 1U});
  }
  return program;
}

// PALM, equation (1): (B/b - 1) * slowest stage + sum of all stages.
TEST(ByHand, ABalancedPipelineTakesPalmsIdealTime) {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    for (const std::uint32_t stages : {1U, 2U, 4U, 5U}) {
      for (const std::uint32_t micro_batches : {1U, 2U, 4U, 9U}) {
        std::vector<plan::Program> programs;
        for (std::uint32_t stage = 0; stage < stages; ++stage) {
          programs.push_back(pipeline_program(schedule, stage, stages, micro_batches));
        }
        const machine::Machine machine = row(5, "mesh", "1 ps");
        const Outcome outcome = execute(machine, plan_of({stages, 1, 1}, programs, 5));
        const std::int64_t ideal = std::int64_t{micro_batches + stages - 1} * 3'000'000'000;
        EXPECT_GE(outcome.end.ps(), ideal);
        EXPECT_LE(outcome.end.ps(), ideal + 2 * (micro_batches + stages))
            << schedule << ", " << stages << " stages, " << micro_batches << " micro-batches";
        expect_breakdowns_add_up(outcome);
        for (const TileResult& tile : outcome.tiles) {
          EXPECT_EQ(spent(tile, Activity::compute).ps(), micro_batches * 3'000'000'000LL);
        }
      }
    }
  }
}

// The way of a boundary tensor counts as pipeline, the wait before it was sent as bubble.
TEST(ByHand, TellsBubbleFromTransfer) {
  const plan::Plan plan = plan_of(
      {2, 1, 1},
      {once({work(7000), transfer(Action::send, Peer::next_stage, plan::Traffic::activation, 500)}),
       once({work(2000),
             transfer(Action::receive, Peer::previous_stage, plan::Traffic::activation, 500),
             work(100)})},
      2);
  const Outcome outcome = execute(row(2), plan);
  ASSERT_EQ(outcome.tiles.size(), 2U);
  EXPECT_EQ(outcome.tiles[0].end.ps(), 7000);
  const TileResult& second = outcome.tiles[1];
  EXPECT_EQ(spent(second, Activity::compute).ps(), 2100);
  EXPECT_EQ(spent(second, Activity::bubble).ps(), 5000);
  EXPECT_EQ(spent(second, Activity::pipeline).ps(), 1000 + 50'000);
  expect_breakdowns_add_up(outcome);
  ASSERT_EQ(outcome.noted.messages.size(), 1U);
  EXPECT_EQ(outcome.noted.messages[0].sent.ps(), 7000);
  EXPECT_EQ(outcome.noted.messages[0].arrived.ps(), 58'000);
  EXPECT_EQ(outcome.noted.messages[0].taken.ps(), 58'000);
  EXPECT_EQ(outcome.noted.messages[0].bytes, Bytes(500));
}

// Two stages with a copy each: a ring of two, 2 (latency + half / bandwidth) after the later one is
// there; before it has sent anything the other one's wait is bubble.
TEST(ByHand, TiedWeightsAreSummedOverTheStages) {
  Instruction sum = all_reduce(1000, plan::Group::tied);
  sum.traffic = plan::Traffic::tied;
  plan::Plan plan = plan_of({2, 1, 1}, {once({work(7000), sum}), once({work(2000), sum})}, 2);
  plan.tied_stages = {0, 1};
  plan.groups[static_cast<std::size_t>(plan::Group::tied)].size = 2;
  const Outcome outcome = execute(row(2), plan);
  ASSERT_EQ(outcome.tiles.size(), 2U);
  EXPECT_EQ(outcome.tiles[0].end.ps(), 7000 + 2 * (1000 + 50'000));
  // Both halves came one behind the other.
  EXPECT_EQ(outcome.tiles[1].end.ps(), 7000 + 1000 + 2 * 50'000);
  EXPECT_EQ(spent(outcome.tiles[1], Activity::bubble).ps(), 5000);
  EXPECT_EQ(spent(outcome.tiles[1], Activity::pipeline).ps(), 1000 + 2 * 50'000);
  EXPECT_EQ(outcome.bytes(plan::Traffic::tied), 2000U);
  expect_breakdowns_add_up(outcome);
}

TEST(ByHand, AMessageThatCameEarlyWaitsInTheInbox) {
  const plan::Plan plan = plan_of(
      {2, 1, 1},
      {once({transfer(Action::send, Peer::next_stage, plan::Traffic::activation, 10)}),
       once({work(50'000),
             transfer(Action::receive, Peer::previous_stage, plan::Traffic::activation, 10)})},
      2);
  const Outcome outcome = execute(row(2), plan, "", 3);
  EXPECT_EQ(outcome.end.ps(), 3 * 50'000);
  ASSERT_EQ(outcome.noted.messages.size(), 3U);
  // All were sent at once, and are taken one an iteration.
  for (std::int64_t i = 0; i < 3; ++i) {
    const MessageRecord& message = outcome.noted.messages[static_cast<std::size_t>(i)];
    EXPECT_EQ(message.arrived.ps(), 2000 + i * 1000);
    EXPECT_EQ(message.taken.ps(), (i + 1) * 50'000);
  }
  EXPECT_EQ(outcome.instructions, 9U);
}

TEST(ByHand, ADeadlockNamesTileInstructionAndPeer) {
  const plan::Plan plan =
      plan_of({2, 1, 1},
              {once({work(10)}), once({work(1500), transfer(Action::receive, Peer::previous_stage,
                                                            plan::Traffic::activation)})},
              2);
  const machine::Machine machine = row(2);
  const Outcome outcome = execute(machine, plan);
  EXPECT_EQ(outcome.unfinished, 1U);
  ASSERT_EQ(outcome.waiting.size(), 1U);
  EXPECT_THAT(outcome.waiting[0],
              AllOf(HasSubstr(machine.topology->node_name(EntityId(1)) + " (stage 1"),
                    HasSubstr("'receive activation' of forward, micro-batch 0"),
                    HasSubstr(to_string(SimTime::from_ps(1500))),
                    HasSubstr("for a message from " + machine.topology->node_name(EntityId(0)))));
}

TEST(ByHand, TilesWithoutARoleDoNothing) {
  const Outcome outcome = execute(row(5), plan_of({1, 1, 1}, {once({work(10)})}, 5));
  EXPECT_EQ(outcome.tiles.size(), 1U);
  EXPECT_EQ(outcome.unfinished, 0U);
  EXPECT_EQ(outcome.end.ps(), 10);
}

}  // namespace
}  // namespace tessera::executor::by_hand_test
