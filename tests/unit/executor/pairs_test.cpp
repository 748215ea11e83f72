// Passes of DualPipe that take turns: bubbles against the closed form of the DeepSeek-V3 paper
// (arXiv:2412.19437, table 2), and exchanges over experts that the other pass hides.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "../plan/planning.hpp"
#include "harness.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/schedule/schedule.hpp"

namespace tessera::executor::pairs_test {
namespace {

using plan::Phase;
using plan::testing::machine_text;
using plan::testing::planned;
using plan::testing::Planned;
using testing::execute;
using ::testing::HasSubstr;
using testing::Outcome;

// Equal layers without communication, whose passes F, I and W take equally long.
std::string layers_alike(int batch) {
  return "kind: layers\ninput: [4096, 64]\nbatch: " + std::to_string(batch) +
         "\ndata_type: fp16\nlayers:\n"
         "  - {name: l, repeat: 24, operators: [{kind: linear, outputs: 64}]}\n";
}

// Experts whose tokens travel as long as they are computed with.
std::string experts(int batch) {
  return "kind: transformer\nlayers: 6\nhidden: 64\nheads: 4\nsequence: 32\nvocabulary: 64\n"
         "batch: " +
         std::to_string(batch) + "\ndata_type: fp16\nexperts: {count: 4, top_k: 2}\n";
}

SimTime computed(const Outcome& outcome, EntityId tile) {
  SimTime sum;
  for (const OperatorRecord& record : outcome.noted.operators) {
    if (record.tile == tile && record.activity == Activity::compute) {
      sum += record.end - record.start;
    }
  }
  return sum;
}

// Of one pass through one chunk.
SimTime time_of(const Planned& work, Phase phase, std::uint32_t stage) {
  const plan::Program& program = work.plan.stages[stage].program;
  for (const plan::ScheduleEntry& entry : program.schedule) {
    if (entry.pass.phase != phase || entry.beside) {
      continue;
    }
    SimTime sum;
    for (const plan::Instruction& instruction : program.instructions(entry)) {
      if (instruction.action == plan::Action::execute) {
        sum += plan::testing::time_at_peak(work.machine.tile,
                                           work.plan.operations[instruction.operation]);
      }
    }
    return sum;
  }
  return SimTime::zero();
}

// PP stages: (PP/2 - 1) (F&B + B - 3 W), where F&B is F and B, nothing being hidden.
TEST(Pairs, BubbleOfDualPipeIsThatOfThePaper) {
  for (const int stages : {4, 6, 8}) {
    const Planned work = planned("pipeline: " + std::to_string(stages) +
                                     "\nchunks: 2\nschedule: dualpipe\noverlap_passes: true\n",
                                 machine_text("sram: 0 B"), layers_alike(4 * stages));
    const std::uint32_t middle = static_cast<std::uint32_t>(stages) / 2;
    const SimTime forward = time_of(work, Phase::forward, middle);
    const SimTime weights = time_of(work, Phase::weight_gradient, middle);
    const SimTime inputs = time_of(work, Phase::input_gradient, middle);
    const std::int64_t both = (forward + inputs + weights).ps();
    const std::int64_t bubble =
        (stages / 2 - 1) * (both + (inputs + weights).ps() - 3 * weights.ps());
    const Outcome outcome = execute(work.machine, work.plan);
    EXPECT_EQ(outcome.unfinished, 0U);
    const EntityId tile = work.plan.placement.tile({0, 0, 0});
    const std::int64_t idle = (work.ideal_time() - computed(outcome, tile)).ps();
    EXPECT_NEAR(static_cast<double>(idle) / static_cast<double>(bubble), 1, 0.02) << stages;
    // Messages between stages are all that is added.
    EXPECT_LT(static_cast<double>(outcome.end.ps()),
              1.1 * static_cast<double>(work.ideal_time().ps()));
  }
}

TEST(Pairs, ExchangesHideBehindTheOtherPass) {
  const std::string strategy =
      "pipeline: 4\nchunks: 2\ndata: 4\nexpert: 4\nschedule: dualpipe\noverlap_passes: ";
  const std::string machine =
      "topology: {kind: mesh, rows: 4, columns: 8, bandwidth: 20 GB/s, latency: 1 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}, sram: 0 B}\ndram: {at: none}\n";
  const Planned apart = planned(strategy + "false\n", machine, experts(64));
  const Planned turns = planned(strategy + "true\n", machine, experts(64));
  const Outcome one = execute(apart.machine, apart.plan);
  const Outcome other = execute(turns.machine, turns.plan);
  EXPECT_EQ(other.unfinished, 0U);
  EXPECT_LT(other.end, one.end);
  EXPECT_GE(other.end, turns.ideal_time());
  // The same is computed and sent.
  EXPECT_EQ(other.bytes(plan::Traffic::expert), one.bytes(plan::Traffic::expert));
  const auto exposed = [](const Outcome& outcome) {
    SimTime sum;
    for (const TileResult& tile : outcome.tiles) {
      sum += tile.time[static_cast<std::size_t>(Activity::expert)];
    }
    return static_cast<double>(sum.ps());
  };
  EXPECT_LT(exposed(other), 0.7 * exposed(one));
}

TEST(Pairs, AreTheSameOnSeveralRanks) {
  for (const std::string schedule : {"dualpipe", "dualpipe-v"}) {
    const Planned work =
        planned("pipeline: 4\nchunks: 2\ndata: 2\nexpert: 2\nschedule: " + schedule +
                    "\noverlap_passes: true\n",
                machine_text("sram: 0 B"), experts(32));
    const Outcome alone = execute(work.machine, work.plan, "", 2);
    EXPECT_EQ(alone.unfinished, 0U) << schedule;
    for (const int ranks : {2, 3, 4}) {
      EXPECT_EQ(execute(work.machine, work.plan, "", 2, ranks).end, alone.end) << schedule << ranks;
    }
  }
}

TEST(Pairs, KeepAsManyActivationsAsThePaperSays) {
  const Planned work = planned("pipeline: 4\nchunks: 2\nschedule: dualpipe\noverlap_passes: true\n",
                               machine_text("sram: 0 B"), layers_alike(16));
  for (const plan::Stage& stage : work.plan.stages) {
    std::size_t pairs = 0;
    std::vector<plan::Pass> passes;
    for (const plan::ScheduleEntry& entry : stage.program.schedule) {
      passes.push_back(entry.pass);
      if (entry.beside) {
        passes.push_back(*entry.beside);
        ++pairs;
      }
    }
    EXPECT_GT(pairs, 0U);
    EXPECT_LE(plan::most_in_flight(passes), 5U);  // PP + 1
  }
}

TEST(Pairs, CannotStreamOperands) {
  try {
    planned("pipeline: 4\nchunks: 2\nschedule: dualpipe\noverlap_passes: true\n",
            machine_text("sram: 1 kB", "at: each, bandwidth: 10 GB/s, latency: 10 ns"),
            layers_alike(16));
    ADD_FAILURE() << "slots of accesses used twice";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot stream operands"));
  }
}

}  // namespace
}  // namespace tessera::executor::pairs_test
