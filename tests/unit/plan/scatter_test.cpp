// When gradients that replicas share out are scattered: after each micro-batch, or those of a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planning.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan::scatter_test {
namespace {

using collective::Kind;
using testing::planned;
using testing::Planned;

// Gradients scattered by stage 0 in an iteration, in layers of its chunks.
std::size_t scattered(const Planned& work) {
  std::size_t layers = 0;
  const Program& program = work.plan.stages[0].program;
  for (const ScheduleEntry& entry : program.schedule) {
    for (const Instruction& instruction : program.instructions(entry)) {
      const bool is_sent = instruction.action == Action::collective ||
                           instruction.action == Action::start_collective;
      layers += is_sent && instruction.collective == Kind::reduce_scatter ? 1 : 0;
    }
  }
  return layers;
}

std::size_t layers_of(const Planned& work) {
  std::size_t layers = 0;
  for (const LayerRange& chunk : work.plan.stages[0].chunks) {
    layers += chunk.end - chunk.first;
  }
  return layers;
}

// Two stages with two chunks each: runs of two micro-batches, of which there are eight.
const std::string interleaved = "pipeline: 2\nchunks: 2\ndata: 2\nzero: 2\nmicro_batch: 1\n";

TEST(Scatter, OfEachMicroBatchOrOfEachRun) {
  const Planned each = planned(interleaved);
  const std::size_t layers = layers_of(each);
  const std::size_t micro_batches = each.plan.strategy.micro_batches;
  ASSERT_GT(micro_batches, 2U);
  EXPECT_EQ(scattered(each), layers * micro_batches);
  EXPECT_EQ(scattered(planned(interleaved + "scatter: run\n")), layers * micro_batches / 2);
}

TEST(Scatter, OneRunIsTheWholeIterationWithoutChunks) {
  for (const std::string overlap : {"false", "true"}) {
    const std::string plan = "pipeline: 2\ndata: 2\nmicro_batch: 1\noverlap_gradients: " + overlap;
    const Planned run = planned(plan + "\nzero: 2\nscatter: run\n");
    EXPECT_EQ(scattered(run), layers_of(run)) << overlap;
  }
}

// Beside the share, those of a whole chunk, where without runs all chunks' are held.
TEST(Scatter, WholeGradientsOfOneChunkAreHeld) {
  const Planned run = planned(interleaved + "scatter: run\n");
  const Stage& stage = run.plan.stages[0];
  const Sharder sharder(run.workload, run.plan.strategy);
  Bytes most;
  for (const LayerRange& chunk : stage.chunks) {
    Bytes gradients;
    for (std::size_t layer = chunk.first; layer < chunk.end; ++layer) {
      gradients += sharder.bytes_of(run.workload.layers[layer]).dense_gradients;
    }
    most = std::max(most, gradients);
  }
  const MemoryWalk::Peak peak =
      peak_over(run.machine, run.plan, 0, run.plan.strategy.passes(0, true));
  EXPECT_EQ(peak.use[MemoryPart::scattered], most);
  EXPECT_EQ(peak.use[MemoryPart::gradients], stage.memory.gradients);
  EXPECT_LT(stage.memory.gradients, most * 2);
  const Planned whole = planned(
      "pipeline: 2\nchunks: 2\ndata: 2\nzero: 1\nmicro_batch: 1\noverlap_gradients: true\n");
  EXPECT_GT(whole.plan.stages[0].memory.gradients, most);
}

std::string refusal(const std::string& strategy, const std::string& machine) {
  try {
    planned(strategy, machine);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Scatter, NeitherByOperatorNorWhereGradientsStream) {
  using ::testing::HasSubstr;
  const std::string machine = testing::machine_text();
  EXPECT_THAT(refusal("data: 2\nzero: 3\ngather: operator\nscatter: run\n", machine),
              HasSubstr("run is only for 'gather: layer'"));
  const std::string streams =
      testing::machine_text("sram: 10 kB", "at: each, bandwidth: 10 GB/s, latency: 10 ns");
  EXPECT_THAT(refusal("data: 2\nzero: 2\nscatter: run\n", streams), HasSubstr("cannot stream"));
  EXPECT_EQ(refusal("data: 2\nzero: 2\n", streams), "");
}

}  // namespace
}  // namespace tessera::plan::scatter_test
