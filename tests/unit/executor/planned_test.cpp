// Whole plans in motion.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "../plan/planning.hpp"
#include "harness.hpp"

namespace tessera::executor {
namespace {

using plan::testing::machine_text;
using plan::testing::planned;
using plan::testing::Planned;
using testing::execute;
using testing::Outcome;

const std::string dram = "at: each, bandwidth: 10 GB/s, latency: 10 ns";

void expect_breakdowns_add_up(const Outcome& outcome) {
  for (const TileResult& tile : outcome.tiles) {
    SimTime sum;
    for (const SimTime time : tile.time) {
      sum += time;
    }
    EXPECT_TRUE(tile.finished);
    EXPECT_EQ(sum, tile.end);
    EXPECT_LE(tile.end, outcome.end);
  }
}

TEST(Planned, EveryInstantHasOneActivity) {
  for (const std::string sram : {"0 B", "1 B", "200 kB"}) {
    for (const std::string strategy :
         {"pipeline: 4\ntensor: 4\ndata: 2\n", "pipeline: 8\ndata: 4\nschedule: gpipe\n",
          "pipeline: 2\ntensor: 2\ndata: 4\noverlap_gradients: true\nzero: 1\n",
          "pipeline: 2\ntensor: 4\nboundary: scattered\nrecompute: full\n"}) {
      const Planned work = planned(strategy, machine_text("sram: " + sram, dram));
      const Outcome outcome = execute(work.machine, work.plan, "", 2);
      EXPECT_EQ(outcome.tiles.size(), work.plan.strategy.degrees.tiles());
      EXPECT_EQ(outcome.unfinished, 0U) << strategy;
      EXPECT_EQ(outcome.instructions, 2 * work.plan.instructions()) << strategy;
      EXPECT_GE(outcome.end, work.plan.ideal_time() * 2) << strategy;
      expect_breakdowns_add_up(outcome);
    }
  }
}

// Two servers of two accelerators with a NIC each: the ring of a group runs in two channels, each
// out of a server by its own NIC, and no two messages share a link. Were one channel's step to wait
// for the other's, every step would take as long as one between servers.
TEST(Planned, ChannelsOfAClusterGoOnByThemselves) {
  const std::string machine =
      "topology: {kind: cluster, nodes: 2, accelerators: 2, nics: 2, switch: {bandwidth: 100 GB/s, "
      "latency: 10 ns}, nic: {bandwidth: 100 GB/s, latency: 1 us}, port: {bandwidth: 100 GB/s, "
      "latency: 1 us}, fabric: {kind: switch}}\n"
      "tile: {peak: {fp16: 1000 TFLOP/s}}\ndram: {at: none}\n";
  const std::string strategy = "tensor: 4\n";
  const std::string one_packet = "network: {max_packets: 1}\n";
  const Planned simulated = planned(strategy, machine);
  const Planned stood_for = planned(strategy + "aggregation: tensor\n", machine);
  ASSERT_EQ(simulated.plan.group(plan::Group::tensor).channels, 2U);
  const SimTime end = execute(simulated.machine, simulated.plan, one_packet).end;
  EXPECT_EQ(execute(stood_for.machine, stood_for.plan, one_packet).end, end);
  // A pass goes on at the mean of the ring's four latencies, two of 20 ns and two of 4 us.
  SimTime tensor;
  for (const plan::ScheduleEntry& entry : stood_for.plan.stages[0].program.schedule) {
    for (const plan::Instruction& code : stood_for.plan.stages[0].program.instructions(entry)) {
      if (code.action == plan::Action::elapse) {
        const auto time = SimTime::from_ps(static_cast<std::int64_t>(code.bytes));
        EXPECT_GT(time, SimTime::from_ps(3 * 2 * 2'010'000 - 1)) << "six steps";
        EXPECT_LT(time, SimTime::from_ps(6 * 4'000'000)) << "six steps between servers";
        tensor += time;
      }
    }
  }
  EXPECT_GT(tensor, SimTime::zero());
}

// Holds for these plans, not for every one: four gpipe stages of four replicas take 0.16 % longer.
TEST(Planned, OverlappingGradientsIsNoSlower) {
  for (const std::string strategy :
       {"pipeline: 2\ndata: 8\n", "pipeline: 1\ntensor: 2\ndata: 4\n", "data: 16\n"}) {
    const Planned apart = planned(strategy);
    const Planned overlapped = planned(strategy + "overlap_gradients: true\n");
    const Outcome slow = execute(apart.machine, apart.plan);
    const Outcome fast = execute(overlapped.machine, overlapped.plan);
    EXPECT_LE(fast.end, slow.end) << strategy;
    EXPECT_EQ(fast.bytes(plan::Traffic::data), slow.bytes(plan::Traffic::data)) << strategy;
  }
}

// A ring moves the vector N - 1 times in a reduce-scatter and as often in an all-gather; each step
// of all members together moves it once.
TEST(Planned, AShardedOptimizerGathersTheWeightsOnce) {
  for (const std::string overlap : {"false", "true"}) {
    const Planned work =
        planned("pipeline: 2\ntensor: 2\ndata: 4\nzero: 1\noverlap_gradients: " + overlap + "\n");
    const Outcome outcome = execute(work.machine, work.plan);
    std::uint64_t expected = 0;
    for (const plan::Stage& stage : work.plan.stages) {
      expected += 2 * 3 * (stage.memory.gradients + stage.memory.weights).count();
    }
    EXPECT_EQ(outcome.unfinished, 0U);
    EXPECT_EQ(outcome.bytes(plan::Traffic::data), expected);
  }
}

TEST(Planned, AScatteredBoundaryCarriesEachByteOnce) {
  const std::string degrees = "pipeline: 4\ntensor: 4\n";
  const Planned whole = planned(degrees);
  const Planned scattered = planned(degrees + "boundary: scattered\n");
  const Outcome a = execute(whole.machine, whole.plan);
  const Outcome b = execute(scattered.machine, scattered.plan);
  const std::uint64_t once = 3 * 16 * 32 * 64 * 2;  // boundaries * micro-batches * tensor
  for (const plan::Traffic traffic : {plan::Traffic::activation, plan::Traffic::gradient}) {
    EXPECT_EQ(a.bytes(traffic), 4 * once);
    EXPECT_EQ(b.bytes(traffic), once);
  }
  // Gathered again in groups of four: three steps of the whole tensor, both ways.
  EXPECT_EQ(b.bytes(plan::Traffic::tensor) - a.bytes(plan::Traffic::tensor), 2 * 3 * once);
}

TEST(Planned, IsTheSameOnAnyNumberOfRanks) {
  const Planned work = planned("pipeline: 2\ntensor: 2\ndata: 4\noverlap_gradients: true\n",
                               machine_text("sram: 200 kB", dram));
  const auto facts_of = [&](int ranks) {
    Outcome outcome = execute(work.machine, work.plan, "", 2, ranks);
    std::vector<std::tuple<std::uint32_t, SimTime, std::array<SimTime, activities>>> facts;
    for (const TileResult& tile : outcome.tiles) {
      facts.emplace_back(tile.tile.value(), tile.end, tile.time);
    }
    std::sort(facts.begin(), facts.end());
    return std::tuple(outcome.end, facts, outcome.noted.messages.size());
  };
  const auto expected = facts_of(1);
  for (int ranks = 2; ranks <= 4; ++ranks) {
    EXPECT_EQ(facts_of(ranks), expected) << ranks;
  }
}

}  // namespace
}  // namespace tessera::executor
