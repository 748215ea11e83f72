// What a schedule takes where arithmetic alone takes time.
#include <gtest/gtest.h>

#include "planning.hpp"

namespace tessera::plan::ideal_time_test {
namespace {

using testing::machine_text;
using testing::planned;

constexpr std::int64_t unit = 2 * 16 * 64 * 64;  // [ps] forward pass of a layer, at 1 TFLOP/s

// `layers` alike, each a third of its time forward; 8 micro-batches.
std::string alike(int layers, const std::string& mode = "training") {
  std::string text = "kind: layers\nbatch: 8\nmode: " + mode + "\ninput: [16, 64]\nlayers:\n";
  for (int i = 0; i < layers; ++i) {
    text += "  - {kind: linear, outputs: 64, bias: false}\n";
  }
  return text;
}

SimTime ideal(const std::string& strategy, const std::string& workload,
              std::uint64_t iterations = 1) {
  return planned(strategy, machine_text(), workload).ideal_time(iterations);
}

// PALM, equation (1): (8 - 1) * 3 + 4 * 3 units.
TEST(IdealTime, OfEqualStagesIsPalmsEquation) {
  for (const std::string schedule : {"1f1b", "gpipe"}) {
    const std::string strategy = "pipeline: 4\nschedule: " + schedule;
    EXPECT_EQ(ideal(strategy, alike(4)), SimTime::from_ps(33 * unit)) << schedule;
    EXPECT_EQ(ideal(strategy, alike(4), 5), SimTime::from_ps(33 * unit)) << schedule;
  }
}

// Narayanan et al., arXiv:2104.04473, section 2.2: the bubble, 3 * 3 * 2 units, halves.
TEST(IdealTime, ChunksFillThePipelineSooner) {
  EXPECT_EQ(ideal("pipeline: 4\nschedule: interleaved\nchunks: 2", alike(8)),
            SimTime::from_ps((8 * 6 + 9) * unit));
}

// Qi et al., arXiv:2401.10241, table 2: a bubble of (p - 1) (f + b - w).
TEST(IdealTime, WeightGradientsFillTheEnd) {
  EXPECT_EQ(ideal("pipeline: 4\nschedule: zb-h1", alike(4)), SimTime::from_ps((8 * 3 + 3) * unit));
}

// Qi et al., arXiv:2401.10241, section 6: nothing but the way of the first micro-batch to the last
// stage is left, 3 forward passes.
TEST(IdealTime, InAVTheFillAloneIsLeft) {
  EXPECT_EQ(ideal("pipeline: 4\nschedule: zb-v\nchunks: 2", alike(8)),
            SimTime::from_ps((8 * 6 + 3) * unit));
}

// The pipeline is filled once, not each iteration.
TEST(IdealTime, InferenceGoesOnWithTheNextIteration) {
  const std::string strategy = "pipeline: 4\n";
  EXPECT_EQ(ideal(strategy, alike(4, "inference")), SimTime::from_ps(11 * unit));
  EXPECT_EQ(ideal(strategy, alike(4, "inference"), 3), SimTime::from_ps(9 * unit));
}

// A first stage of three layers goes on while the other one is idle: 8 * 9 units, then nothing, for
// its own backward pass is the last.
TEST(IdealTime, ASlowFirstStageNeedNotWait) {
  EXPECT_EQ(ideal("pipeline: 2\nplacement: {layout: given, tiles: [{tiles: 0, layers: [0, 2]}, "
                  "{tiles: 1, layers: [3, 3]}]}",
                  alike(4)),
            SimTime::from_ps(8 * 9 * unit));
}

}  // namespace
}  // namespace tessera::plan::ideal_time_test
