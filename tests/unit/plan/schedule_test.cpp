#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::plan::schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PipelineShape shape_of(std::uint32_t stages, std::uint32_t micro_batches, std::uint32_t chunks = 1,
                       bool training = true) {
  return {stages, chunks, micro_batches, training};
}

PipelineShape v_of(std::uint32_t stages, std::uint32_t micro_batches) {
  return {stages, 2, micro_batches, true, true};
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
              ElementsAre("1f1b", "dualpipe", "dualpipe-v", "gpipe", "interleaved", "layer-wise",
                          "streaming", "zb-h1", "zb-v"));
  for (const std::string& name : schedules().names()) {
    std::size_t seen = 0;
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
      for (std::uint32_t chunks = 1; chunks <= 3; ++chunks) {
        for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 8U, 12U, 17U, 30U}) {
          PipelineShape shape = shape_of(stages, count, chunks, name != "streaming");
          shape.v_shaped = schedules().at(name).v_shaped;
          shape.mirrored = schedules().at(name).mirrored;
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

TEST(Schedule, GoesThereAndBackInAV) {
  EXPECT_EQ(text_of(passes("zb-v", v_of(2, 4), 0)),
            "F0 F1 F2 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 F3 I0 W0 F2.1 I2.1 W2.1 I1 W1 F3.1 I3.1 W3.1 "
            "I2 W2 I3 W3");
  EXPECT_EQ(text_of(passes("zb-v", v_of(2, 4), 1)),
            "F0 F0.1 F1 F1.1 I0.1 W0.1 F2 I0 W0 F2.1 I1.1 W1.1 F3 I1 W1 F3.1 I2.1 W2.1 I2 I3.1 I3 "
            "W2 W3.1 W3");
  EXPECT_EQ(text_of(passes("zb-v", v_of(1, 2), 0)),
            "F0 F0.1 I0.1 W0.1 F1 I0 W0 F1.1 I1.1 W1.1 I1 W1");
  EXPECT_EQ(text_of(passes("dualpipe-v", v_of(2, 4), 0)),
            "F0 F1 F2 F0.1 I0.1 W0.1 F1.1 F3 B1.1 F2.1 B0 B2.1 F3.1 B1 B3.1 I2 W2 I3 W3");
  EXPECT_EQ(text_of(passes("dualpipe-v", v_of(2, 4), 1)),
            "F0 F0.1 F1 F1.1 F2 B0.1 F2.1 B0 F3 B1.1 F3.1 B1 B2.1 B2 I3.1 I3 W3.1 W3");
  EXPECT_THAT(schedules().at("zb-v").objection(shape_of(4, 6)), HasSubstr("chunks: 2"));
  EXPECT_THAT(schedules().at("dualpipe-v").objection(v_of(4, 7)), HasSubstr("7 for 4"));
}

TEST(Schedule, LaysChunksInAV) {
  const PipelineShape shape = v_of(3, 4);
  std::vector<std::uint32_t> stages;
  for (std::uint32_t part = 0; part < shape.parts(); ++part) {
    stages.push_back(shape.stage_of(part));
    EXPECT_EQ(shape.part_of(stages.back(), part / shape.stages), part);
  }
  EXPECT_THAT(stages, ElementsAre(0, 1, 2, 2, 1, 0));
}

// Qi et al., arXiv:2401.10241, section 6: as much as 1F1B keeps, p micro-batches, in halves.
// DeepSeek-V3, arXiv:2412.19437, table 2: one chunk more.
TEST(Schedule, KeepsInAVWhatThePapersSay) {
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (const std::uint32_t count : {12U, 13U, 30U}) {
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(most_in_flight(passes("zb-v", v_of(stages, count), stage)), 2 * stages);
        EXPECT_EQ(most_in_flight(passes("dualpipe-v", v_of(stages, count), stage)), 2 * stages + 1);
      }
    }
  }
}

// From the begin of the first pass to the end of the last, over all stages, but for what the
// busiest does, or the least busy; and the longest that a stage is idle between its own first and
// last pass.
struct Bubble {
  std::uint64_t whole = 0;
  std::uint64_t most = 0;
  std::uint64_t inside = 0;
};

struct PassTimes {
  std::uint64_t forward = 1;
  std::uint64_t inputs = 1;
  std::uint64_t weights = 1;
  std::uint64_t pair = 0;  // a forward and a backward pass beside each other; 0: both times
  std::uint64_t of(Phase phase) const {
    return phase == Phase::forward           ? forward
           : phase == Phase::input_gradient  ? inputs
           : phase == Phase::weight_gradient ? weights
                                             : inputs + weights;
  }
};

// Passes that begin and end together: one, or a forward pass and the whole backward pass of the
// other chunk behind it where these are `beside` each other, but for the first such pair of the
// stages in the middle.
std::vector<std::vector<Pass>> blocks_of(const std::vector<Pass>& list, bool beside, bool last) {
  std::vector<std::vector<Pass>> blocks;
  bool alone = last;
  for (const Pass& pass : list) {
    const bool pairs = beside && pass.phase == Phase::backward && !blocks.empty() &&
                       blocks.back().size() == 1 && blocks.back().front().phase == Phase::forward &&
                       blocks.back().front().chunk != pass.chunk;
    if (pairs && !alone) {
      blocks.back().push_back(pass);
    } else {
      blocks.push_back({pass});
      alone = alone && !pairs;
    }
  }
  return blocks;
}

Bubble bubble_of(const std::string& name, const PipelineShape& shape, const PassTimes& times,
                 bool beside = false) {
  constexpr std::uint64_t never = ~std::uint64_t{0};
  std::vector<std::vector<std::vector<Pass>>> blocks;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const bool middle = shape.mirrored ? stage == shape.stages / 2 || stage + 1 == shape.stages / 2
                                       : stage + 1 == shape.stages;
    blocks.push_back(blocks_of(passes(name, shape, stage), beside, middle));
  }
  const std::vector<std::uint64_t> not_done(std::size_t{shape.parts()} * shape.micro_batches,
                                            never);
  std::vector<std::uint64_t> forward = not_done;
  std::vector<std::uint64_t> backward = not_done;
  std::vector<std::size_t> next(shape.stages);
  std::vector<std::uint64_t> clock(shape.stages);
  std::vector<std::uint64_t> begin(shape.stages, never);
  std::vector<std::uint64_t> busy(shape.stages);
  const auto ready = [&](const Pass& pass, std::uint32_t part) -> std::uint64_t {
    const auto at = [&](std::uint32_t of) {
      return std::size_t{of} * shape.micro_batches + pass.micro_batch;
    };
    if (pass.phase == Phase::forward) {
      return shape.begins(part) ? 0 : forward[at(part - 1)];
    }
    const bool ends = pass.phase == Phase::weight_gradient || shape.ends(part);
    return ends ? 0 : backward[at(part + 1)];
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      if (next[stage] == blocks[stage].size()) {
        continue;
      }
      std::uint64_t start = clock[stage];
      std::uint64_t length = 0;
      for (const Pass& pass : blocks[stage][next[stage]]) {
        start = std::max(start, ready(pass, shape.part_of(stage, pass.chunk)));
        length += times.of(pass.phase);
      }
      length = blocks[stage][next[stage]].size() > 1 && times.pair > 0 ? times.pair : length;
      if (start == never) {
        continue;
      }
      for (const Pass& pass : blocks[stage][next[stage]]) {
        const std::size_t place =
            std::size_t{shape.part_of(stage, pass.chunk)} * shape.micro_batches + pass.micro_batch;
        if (pass.phase != Phase::weight_gradient) {
          (pass.phase == Phase::forward ? forward : backward)[place] = start + length;
        }
      }
      begin[stage] = std::min(begin[stage], start);
      clock[stage] = start + length;
      busy[stage] += length;
      ++next[stage];
      moved = true;
    }
  }
  Bubble bubble;
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    EXPECT_EQ(next[stage], blocks[stage].size()) << name;
    bubble.inside = std::max(bubble.inside, clock[stage] - begin[stage] - busy[stage]);
  }
  bubble.whole =
      *std::max_element(clock.begin(), clock.end()) - *std::max_element(busy.begin(), busy.end());
  bubble.most =
      *std::max_element(clock.begin(), clock.end()) - *std::min_element(busy.begin(), busy.end());
  return bubble;
}

// The bubbles that the papers state, of schedules without a V first: Qi et al., table 2.
TEST(Bubble, OfOneForwardOneBackwardAndZbH1) {
  const PassTimes times{3, 4, 2};
  for (const std::uint32_t stages : {2U, 4U, 5U}) {
    EXPECT_EQ(bubble_of("1f1b", shape_of(stages, 12), times).whole, (stages - 1) * (3 + 4 + 2));
    EXPECT_EQ(bubble_of("zb-h1", shape_of(stages, 12), {2, 2, 2}).whole, (stages - 1) * 2);
  }
}

// Qi et al., arXiv:2401.10241, section 6: none where all passes take equally long.
TEST(Bubble, OfZbVIsZero) {
  for (std::uint32_t stages = 1; stages <= 8; ++stages) {
    for (const std::uint32_t count : {2 * stages - 1, 2 * stages, 2 * stages + 7}) {
      EXPECT_EQ(bubble_of("zb-v", v_of(stages, count), {}).inside, 0U) << stages << ", " << count;
    }
  }
}

// DeepSeek-V3, arXiv:2412.19437, table 2, with p / 2 stages of two parts: (p / 2 - 1) (F&B + B - 3
// W), where a forward and a backward pass beside each other take as long as one after the other,
// and B is the gradients of inputs and weights. One after the other they hand on sooner.
TEST(Bubble, OfDualPipeVIsThePublishedOne) {
  for (const PassTimes& times : {PassTimes{1, 1, 1}, PassTimes{3, 3, 3}}) {
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
      for (const std::uint32_t count : {2 * stages, 2 * stages + 1, 2 * stages + 8}) {
        const std::uint64_t published =
            (stages - 1) * (times.forward + 2 * times.inputs - times.weights);
        const PipelineShape shape = v_of(stages, count);
        EXPECT_EQ(bubble_of("dualpipe-v", shape, times, true).whole, published)
            << stages << ", " << count;
        EXPECT_LE(bubble_of("dualpipe-v", shape, times).whole, published);
      }
    }
  }
}

PipelineShape mirrored(std::uint32_t stages, std::uint32_t micro_batches) {
  return {stages, 2, micro_batches, true, true, true};
}

// DeepSeek-V3, table 2: as many stages as parts, each with two of them.
TEST(Bubble, OfDualPipeIsThePublishedOne) {
  const PassTimes times{1, 1, 1};
  for (const std::uint32_t stages : {2U, 4U, 8U}) {
    for (const std::uint32_t count : {2 * stages, 2 * stages + 2, 5 * stages}) {
      const PipelineShape shape = mirrored(stages, count);
      EXPECT_EQ(bubble_of("dualpipe", shape, times, true).whole, (stages / 2 - 1) * 2)
          << stages << ", " << count;
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(most_in_flight(passes("dualpipe", shape, stage)), stages + 1);
      }
    }
  }
}

// The same where communication of one hides behind the other: F&B is less than F and B. Stages in
// the middle have most such pairs, and are idle longest; it is theirs that is published.
TEST(Bubble, OfDualPipeThatHidesIsThePublishedOne) {
  for (const std::uint64_t pair : {9U, 8U, 7U}) {
    const PassTimes times{3, 3, 3, pair};
    for (const std::uint32_t stages : {4U, 6U, 8U}) {
      const std::uint64_t published = (stages / 2 - 1) * (pair + 6 - 3 * 3);
      EXPECT_EQ(bubble_of("dualpipe", mirrored(stages, 4 * stages), times, true).most, published)
          << stages << ", " << pair;
    }
  }
}

TEST(Schedule, GoesBothWays) {
  EXPECT_EQ(text_of(passes("dualpipe", mirrored(2, 4), 0)), "F0 F2.1 F1 B2.1 F3.1 B0 B3.1 I1 W1");
  EXPECT_EQ(text_of(passes("dualpipe", mirrored(2, 4), 1)), "F2.1 F0 F3.1 B0 F1 B2.1 B1 I3.1 W3.1");
  EXPECT_THAT(schedules().at("dualpipe").objection(mirrored(3, 8)), HasSubstr("3 and 8"));
  EXPECT_THAT(schedules().at("dualpipe").objection(mirrored(4, 6)), HasSubstr("6 for 4"));
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

TEST(GivenSchedule, MayLieInAV) {
  PipelineShape shape = v_of(2, 1);
  const std::vector<std::vector<Pass>> v{passes_from("F0 F0.1 B0.1 B0"),
                                         passes_from("F0 F0.1 B0.1 B0")};
  EXPECT_EQ(fault_of(shape, v), "");
  const std::vector<std::vector<Pass>> early{passes_from("F0 F0.1 B0.1 B0"),
                                             passes_from("F0.1 F0 B0.1 B0")};
  EXPECT_THAT(fault_of(shape, early), HasSubstr("waits for ever"));
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
}  // namespace tessera::plan::schedule_test
