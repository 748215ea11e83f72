// Whole plans in motion.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "../plan/planning.hpp"
#include "harness.hpp"

namespace tessera::executor::planned_test {
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
          "pipeline: 2\ntensor: 4\nboundary: scattered\nrecompute: full\n",
          "pipeline: 4\nchunks: 2\nschedule: zb-v\ndata: 2\nzero: 3\n",
          "pipeline: 2\nchunks: 2\ntensor: 4\nschedule: dualpipe-v\nboundary: scattered\n",
          "pipeline: 4\nchunks: 2\ndata: 2\nschedule: dualpipe\nzero: 1\n"}) {
      const Planned work = planned(strategy, machine_text("sram: " + sram, dram));
      const Outcome outcome = execute(work.machine, work.plan, "", 2);
      EXPECT_EQ(outcome.tiles.size(), work.plan.strategy.degrees.tiles());
      EXPECT_EQ(outcome.unfinished, 0U) << strategy;
      EXPECT_EQ(outcome.instructions, 2 * work.plan.instructions()) << strategy;
      EXPECT_GE(outcome.end, work.ideal_time() * 2) << strategy;
      expect_breakdowns_add_up(outcome);
    }
  }
}

// Gathers and scatters along the tokens take less than the products that they go on beside.
TEST(Planned, AsyncTensorHidesWhatGoesOnBesideProducts) {
  const std::string strategy = "tensor: 4\nsequence_parallel: true\n";
  const Planned plain = planned(strategy, machine_text("sram: 0 B"));
  const Planned async = planned(strategy + "async_tensor: true\n", machine_text("sram: 0 B"));
  const Outcome one = execute(plain.machine, plain.plan, "", 2);
  const Outcome other = execute(async.machine, async.plan, "", 2);
  EXPECT_EQ(other.unfinished, 0U);
  EXPECT_LT(other.end, one.end);
  EXPECT_GE(other.end, async.ideal_time() * 2);
  expect_breakdowns_add_up(other);
}

TEST(Planned, NoIterationIsShorterThanIdeal) {
  for (const std::string strategy :
       {"pipeline: 2\nchunks: 2\nschedule: interleaved\n", "pipeline: 4\nschedule: zb-h1\n",
        "pipeline: 4\nchunks: 2\nschedule: zb-v\n",
        "pipeline: 2\nchunks: 2\nschedule: dualpipe-v\n",
        "pipeline: 4\nchunks: 2\nschedule: dualpipe\n",
        "pipeline: 4\nschedule: gpipe\nrecompute: full\n", "pipeline: 6\ndata: 2\n",
        "pipeline: 2\nplacement: {layout: given, tiles: [{tiles: 0, layers: [0, 6]}, {tiles: 1, "
        "layers: [7, 7]}]}\n"}) {
    for (const std::uint32_t iterations : {1U, 2U, 5U}) {
      const Planned work = planned(strategy, machine_text("sram: 0 B"));
      const Outcome outcome = execute(work.machine, work.plan, "", iterations);
      EXPECT_GE(outcome.end, work.ideal_time(iterations) * iterations) << strategy << iterations;
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

std::string model(const std::string& more) {
  return plan::testing::workload_text() + more;
}

// Each stage with a copy of the word embedding sends its gradient, 2 B of 100 * 64 weights over the
// shards, 2 (n - 1) / n times in a ring of n stages: the first and the last, and where the decoder
// begins.
TEST(Planned, TiedEmbeddingsSumTheirGradients) {
  const auto tied = [](const std::string& strategy, const std::string& more) {
    const Planned work = planned(strategy, machine_text(), model(more));
    return execute(work.machine, work.plan).bytes(plan::Traffic::tied);
  };
  constexpr std::uint64_t gradient = 100 * 64 * 2;
  EXPECT_EQ(tied("pipeline: 4\n", ""), 2 * gradient);
  EXPECT_EQ(tied("pipeline: 4\ntensor: 2\ndata: 2\n", ""), 2 * gradient * 2);
  EXPECT_EQ(tied("pipeline: 4\ntensor: 2\ndata: 2\nzero: 1\n", ""), 2 * gradient);
  EXPECT_EQ(tied("pipeline: 2\nchunks: 2\n", ""), 2 * gradient);
  EXPECT_EQ(tied("pipeline: 4\n", "tie_embeddings: false\n"), 0U);
  EXPECT_EQ(tied("pipeline: 1\n", ""), 0U);
  EXPECT_EQ(tied("pipeline: 4\n", "mode: inference\n"), 0U);
  EXPECT_EQ(tied("pipeline: 8\n", "architecture: encoder-decoder\n"), 4 * gradient);
}

// PALM, section V-C, with t tiles, n adapters and tensors of V bytes. Equation (7): the all-reduce
// 2 (t - 1) V, to the next stage n V, broadcasts (t - n) V. Equation (8): reduces (t - n) V instead
// of the all-reduce, and 2 (n - 1) V among the adapters. Gradients come back as in (7).
TEST(Planned, AdaptersSendWhatPalmsEquationsSay) {
  constexpr std::uint64_t t = 4;
  constexpr std::uint64_t v = 16 * 32 * 64 * 2;  // all micro-batches
  const std::string degrees = "pipeline: 2\ntensor: 4\n";
  const Planned full = planned(degrees);
  const std::uint64_t inside = execute(full.machine, full.plan).bytes(plan::Traffic::tensor);
  for (std::uint64_t n = 1; n <= t; ++n) {
    for (const std::string method : {"broadcast", "reduced"}) {
      const Planned work =
          planned(degrees + "boundary: " + method + "\nadapters: " + std::to_string(n) + "\n");
      const Outcome outcome = execute(work.machine, work.plan);
      EXPECT_EQ(outcome.unfinished, 0U);
      EXPECT_EQ(outcome.bytes(plan::Traffic::activation), n * v) << method << n;
      EXPECT_EQ(outcome.bytes(plan::Traffic::gradient), n * v) << method << n;
      const std::uint64_t broadcasts = 2 * (t - n) * v;
      const std::uint64_t expected =
          method == "broadcast"
              ? inside + broadcasts
              : inside - 2 * (t - 1) * v + (t - n) * v + 2 * (n - 1) * v + broadcasts;
      EXPECT_EQ(outcome.bytes(plan::Traffic::tensor), expected) << method << n;
      expect_breakdowns_add_up(outcome);
    }
  }
}

// Two rings of t tiles side by side: a stage that ends with partial sums, and one that takes them.
Planned two_rings(const std::string& strategy) {
  return planned(
      "{pipeline: 2, tensor: 8, placement: {layout: given, tiles: [0-7, 8-15]}, " + strategy + "}",
      "topology: {kind: torus, rows: 2, columns: 8, bandwidth: 1 GB/s, latency: 3 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\n",
      "kind: layers\nbatch: 1\nmode: inference\ninput: [16, 64]\nlayers:\n"
      "  - operators:\n"
      "      - {kind: linear, outputs: 256, sharding: column, bias: false}\n"
      "      - {kind: linear, outputs: 64, sharding: row, bias: false, name: down}\n"
      "  - {kind: linear, outputs: 64, bias: false}\n");
}

// On idle links a ring all-reduce takes 2 (t - 1) (l + V/tB); a line of k tiles (k - 1) l and
// 2 (k - 1) V/kB, for k chunks follow each other; a message over h links h l + V/B.
TEST(Planned, AdaptersTakeTheTimeOfTheirParts) {
  constexpr std::int64_t t = 8;
  constexpr std::int64_t latency = 3000;
  constexpr std::int64_t wire = 1000 * 16 * 64 * 2;                            // V/B [ps]
  constexpr std::int64_t work = 2 * 2 * 16 * 64 * 256 / t + 2 * 16 * 64 * 64;  // of both stages
  const auto ring = [](std::int64_t members, std::int64_t hops) {
    return 2 * (members - 1) * (hops * latency + wire / members);
  };
  const auto line = [](std::int64_t tiles) {
    return (tiles - 1) * latency + 2 * (tiles - 1) * wire / tiles;
  };
  for (const std::int64_t n : {1, 2, 4, 8}) {
    const std::int64_t k = t / n;
    const auto end_of = [&](const std::string& boundary) {
      const Planned work_of =
          two_rings("boundary: " + boundary + ", adapters: " + std::to_string(n));
      return execute(work_of.machine, work_of.plan).end.ps();
    };
    const std::int64_t across = latency + wire;
    EXPECT_EQ(end_of("broadcast"), work + ring(t, 1) + across + line(k)) << n;
    EXPECT_EQ(end_of("reduced"), work + line(k) + across + ring(n, k) + line(k)) << n;
  }
}

// One tile stands for a group whose tiles do all at the same time.
TEST(Planned, AdaptersTakeAsLongAggregated) {
  for (const std::string boundary : {"broadcast", "reduced"}) {
    for (const std::string adapters : {"1", "2", "4", "8"}) {
      const std::string keys = "boundary: " + boundary + ", adapters: " + adapters;
      const Planned whole = two_rings(keys);
      const Planned one = two_rings(keys + ", aggregation: tensor");
      EXPECT_EQ(execute(one.machine, one.plan).end, execute(whole.machine, whole.plan).end) << keys;
    }
  }
}

// On a row of eight tiles, all four pairs of replicas send over the link in its middle at once.
TEST(Planned, ReplicasShareLinksAggregated) {
  const std::string machine =
      "topology: {kind: mesh, rows: 1, columns: 8, bandwidth: 1 GB/s, latency: 3 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\ndram: {at: none}\n";
  for (const std::string zero : {"0", "1"}) {
    const std::string strategy = "tensor: 4\ndata: 2\nzero: " + zero + "\n";
    const Planned whole = planned(strategy, machine);
    const Planned one = planned(strategy + "aggregation: tensor\n", machine);
    const auto wanted = static_cast<double>(execute(whole.machine, whole.plan).end.ps());
    EXPECT_NEAR(static_cast<double>(execute(one.machine, one.plan).end.ps()), wanted,
                0.001 * wanted)
        << zero;
  }
}

TEST(Planned, TiedEmbeddingsTakeAsLongAggregated) {
  const std::string machine =
      "topology: {kind: torus, rows: 2, columns: 4, bandwidth: 1 GB/s, latency: 3 ns}\n"
      "tile: {peak: {fp16: 1 TFLOP/s}}\n";
  const std::string strategy =
      "{pipeline: 2, tensor: 4, placement: {layout: given, tiles: [0-3, 4-7]}";
  const Planned whole = planned(strategy + "}", machine);
  const Planned one = planned(strategy + ", aggregation: tensor}", machine);
  EXPECT_EQ(execute(one.machine, one.plan).end, execute(whole.machine, whole.plan).end);
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
}  // namespace tessera::executor::planned_test
