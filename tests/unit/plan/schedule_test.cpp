#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PipelineShape shape_of(std::uint32_t stages, std::uint32_t micro_batches, std::uint32_t chunks = 1,
                       bool training = true) {
  return {stages, chunks, micro_batches, training};
}

std::vector<Pass> passes(const std::string& name, const PipelineShape& shape, std::uint32_t stage) {
  return schedules().at(name).passes(shape, stage);
}

std::vector<std::vector<Pass>> all_passes(const std::string& name, const PipelineShape& shape) {
  std::vector<std::vector<Pass>> all;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    all.push_back(passes(name, shape, stage));
  }
  return all;
}

std::string text_of(const std::vector<Pass>& list) {
  std::string text;
  for (const Pass& pass : list) {
    text += std::string(text.empty() ? "" : " ") + "FBIWU"[static_cast<std::size_t>(pass.phase)] +
            std::to_string(pass.micro_batch);
    text += pass.chunk == 0 ? "" : "." + std::to_string(pass.chunk);
  }
  return text;
}

// Every pass once, and no stage waits for ever.
TEST(Schedule, EachCanBeRun) {
  EXPECT_THAT(schedules().names(),
              ElementsAre("1f1b", "gpipe", "interleaved", "layer-wise", "streaming", "zb-h1"));
  for (const std::string& name : schedules().names()) {
    std::size_t seen = 0;
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
      for (std::uint32_t chunks = 1; chunks <= 3; ++chunks) {
        for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 8U, 12U, 17U, 30U}) {
          const PipelineShape shape = shape_of(stages, count, chunks, name != "streaming");
          if (!schedules().at(name).objection(shape).empty()) {
            continue;
          }
          ++seen;
          EXPECT_EQ(fault_of(shape, all_passes(name, shape)), "")
              << name << ", " << stages << " stages, " << chunks << " chunks, " << count;
        }
      }
    }
    EXPECT_GE(seen, 9U) << name;
  }
}

TEST(Schedule, KeepsAsManyInFlightAsPromised) {
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      for (const std::uint32_t count : {1U, 2U, 5U, 17U}) {
        const PipelineShape shape = shape_of(stages, count);
        EXPECT_EQ(most_in_flight(passes("1f1b", shape, stage)), std::min(stages - stage, count));
        EXPECT_EQ(most_in_flight(passes("gpipe", shape, stage)), count);
        EXPECT_EQ(most_in_flight(passes("zb-h1", shape, stage)), std::min(stages, count));
      }
    }
  }
  EXPECT_EQ(most_in_flight(passes("layer-wise", shape_of(1, 7), 0)), 1U);
  // Narayanan et al., section 2.2: (stages - 1) * 2 + (chunks - 1) * stages warm-up passes.
  EXPECT_EQ(most_in_flight(passes("interleaved", shape_of(4, 8, 2), 0)), 11U);
}

TEST(Schedule, LooksAsInThePapers) {
  EXPECT_EQ(text_of(passes("gpipe", shape_of(3, 3), 1)), "F0 F1 F2 B2 B1 B0");
  EXPECT_EQ(text_of(passes("1f1b", shape_of(3, 5), 0)), "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
  EXPECT_EQ(text_of(passes("1f1b", shape_of(3, 3), 2)), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(text_of(passes("1f1b", shape_of(4, 2), 0)), "F0 F1 B0 B1");
  EXPECT_EQ(text_of(passes("interleaved", shape_of(2, 2, 2), 1)),
            "F0 F1 F0.1 B0.1 F1.1 B1.1 B0 B1");
  EXPECT_EQ(text_of(passes("zb-h1", shape_of(3, 4), 0)), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(text_of(passes("zb-h1", shape_of(3, 4), 2)), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
  EXPECT_EQ(text_of(passes("streaming", shape_of(3, 2, 1, false), 1)), "F0 F1");
}

TEST(Schedule, SaysWhichShapesItCannotDo) {
  EXPECT_THAT(schedules().at("interleaved").objection(shape_of(4, 6, 2)),
              HasSubstr("6 is not a multiple of 4"));
  EXPECT_NE(schedules().at("1f1b").objection(shape_of(4, 6, 2)), "");
  EXPECT_NE(schedules().at("layer-wise").objection(shape_of(2, 6)), "");
}

TEST(GivenSchedule, IsReadAsWritten) {
  const std::string text = "F0 F1 I0 W0 B1 F12.3";
  EXPECT_EQ(text_of(passes_from(text)), text);
  EXPECT_TRUE(passes_from("  ").empty());
  for (const std::string bad : {"X0", "F", "F-1", "F1.", "F1x", "1F", "F1.2.3"}) {
    EXPECT_THROW(passes_from("F0 " + bad), ConfigError) << bad;
  }
}

TEST(GivenSchedule, SaysWhatIsWrong) {
  const auto fault = [](std::uint32_t micro_batches, const std::vector<std::string>& texts) {
    std::vector<std::vector<Pass>> all;
    for (const std::string& text : texts) {
      all.push_back(passes_from(text));
    }
    return fault_of(shape_of(2, micro_batches), all);
  };
  EXPECT_EQ(fault(1, {"F0 B0", "F0 I0 W0"}), "");
  EXPECT_THAT(fault(1, {"F0 B0"}), HasSubstr("1 lists for 2 stages"));
  EXPECT_THAT(fault(2, {"F0 F1 B0 B1", "F0 B0"}), HasSubstr("stage 1: not every pass"));
  EXPECT_THAT(fault(1, {"F0 F0 B0", "F0 B0"}), HasSubstr("stage 0: F0 comes twice"));
  EXPECT_THAT(fault(1, {"F0 B0", "F0 B0 W0"}), HasSubstr("W0 comes twice"));
  EXPECT_THAT(fault(1, {"F0 B0", "F0 B1"}), HasSubstr("B1 is none of 1 micro-batches"));
  EXPECT_THAT(fault(2, {"F0 B0 F1 B1", "F0 F1 B1 B0"}), HasSubstr("waits for ever"));
  EXPECT_THAT(fault(1, {"B0 F0", "F0 B0"}), HasSubstr("stage 0: B0 waits for ever"));
}

}  // namespace
}  // namespace tessera::plan
