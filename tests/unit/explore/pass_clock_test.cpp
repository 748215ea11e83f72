// Schedules in a V pass by pass, against what their papers state.
#include "search/pass_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::explore::pass_clock_test {
namespace {

plan::PipelineShape v_of(std::uint32_t stages, std::uint32_t micro_batches) {
  return {stages, 2, micro_batches, true, true, false};
}

// A whole backward pass is that of inputs and that of weights.
std::vector<PassTimes> alike(std::uint32_t stages) {
  PassTimes times;
  for (const std::uint32_t chunk : {0U, 1U}) {
    times.at(plan::Phase::forward, chunk) = 1;
    times.at(plan::Phase::backward, chunk) = 2;
    times.at(plan::Phase::input_gradient, chunk) = 1;
    times.at(plan::Phase::weight_gradient, chunk) = 1;
  }
  return std::vector<PassTimes>(stages, times);
}

std::vector<double> crossings(std::uint32_t stages, double time) {
  return std::vector<double>(stages, time);
}

// Qi et al., arXiv:2401.10241, section 6: no stage is idle from 2 stages - 1 micro-batches on.
TEST(PassClock, HasNoBubblesInAFilledZbV) {
  PassClock clock;
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (const std::uint32_t count :
         {2 * stages - 1, 2 * stages, 2 * stages + 2, 2 * stages + 31}) {
      for (const StageHours& stage :
           clock.hours({"zb-v", v_of(stages, count)}, alike(stages), crossings(stages, 0))) {
        EXPECT_DOUBLE_EQ(stage.end - stage.begin, 6.0 * count) << stages << ", " << count;
      }
    }
  }
}

// One micro-batch goes through all parts and back, whatever else there is.
TEST(PassClock, LeavesStagesIdleWithFewMicroBatches) {
  PassClock clock;
  for (const std::uint32_t stages : {2U, 3U, 8U}) {
    const auto first = [&](double crossing) {
      return clock.hours({"zb-v", v_of(stages, 1)}, alike(stages), crossings(stages, crossing))[0];
    };
    EXPECT_GE(first(0).end, 4.0 * stages + 1);
    EXPECT_LE(first(0).end, 4.0 * stages + 2);
    EXPECT_DOUBLE_EQ(first(7).end - first(0).end, 4.0 * 7 * (stages - 1));
    double before = 0;
    for (std::uint32_t count = 1; count < 2 * stages; ++count) {
      const double end =
          clock.hours({"zb-v", v_of(stages, count)}, alike(stages), crossings(stages, 0))[0].end;
      EXPECT_GE(end, before);
      before = end;
    }
  }
}

// Two that take turns are begun when what both need is there: with as much time as both have alone
// nothing ends sooner, and what pairs hide every micro-batch gains.
TEST(PassClock, HasPassesTakeTurns) {
  PassClock clock;
  for (const std::uint32_t stages : {2U, 3U, 5U}) {
    const std::uint32_t count = 4 * stages + 5;
    const auto end = [&](bool pairs, double of_pair) {
      std::vector<PassTimes> times = alike(stages);
      for (PassTimes& of : times) {
        of.pairs = {of_pair, of_pair};
      }
      double last = 0;
      for (const StageHours& stage :
           clock.hours({"dualpipe-v", v_of(stages, count), pairs}, times, crossings(stages, 0))) {
        last = std::max(last, stage.end);
      }
      return last;
    };
    EXPECT_GE(end(true, 3), end(false, 3)) << stages;
    // Two pairs a micro-batch, but for those that fill and empty the pipeline.
    EXPECT_LE(end(true, 2), end(true, 3) - 2.0 * (count - 2 * stages)) << stages;
    EXPECT_GE(end(true, 2), 4.0 * count) << stages;
  }
}

// DeepSeek-V3, arXiv:2412.19437, table 2: at most (stages - 1) (F + 2 B - W), where forward and
// backward passes beside each other take as long as one after the other.
TEST(PassClock, HasTheBubblesOfDualPipe) {
  PassClock clock;
  for (const std::uint32_t stages : {2U, 3U, 5U}) {
    for (const std::uint32_t count : {2 * stages, 2 * stages + 2, 4 * stages + 5}) {
      double end = 0;
      for (const StageHours& stage :
           clock.hours({"dualpipe-v", v_of(stages, count)}, alike(stages), crossings(stages, 0))) {
        end = std::max(end, stage.end);
      }
      EXPECT_GE(end, 6.0 * count) << stages << ", " << count;
      EXPECT_LE(end, 6.0 * count + 2.0 * (stages - 1)) << stages << ", " << count;
    }
  }
}

}  // namespace
}  // namespace tessera::explore::pass_clock_test
