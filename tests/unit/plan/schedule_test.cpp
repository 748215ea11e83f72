#include "tessera/plan/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::plan {
namespace {

using ::testing::ElementsAre;

std::vector<ScheduleEntry> entries(const std::string& name, std::uint32_t stage,
                                   std::uint32_t stages, std::uint32_t micro_batches) {
  return schedules().at(name).entries(stage, stages, micro_batches);
}

std::string text_of(const std::vector<ScheduleEntry>& list) {
  std::string text;
  for (const ScheduleEntry& entry : list) {
    text += (entry.phase == Phase::forward ? 'f' : 'b') + std::to_string(entry.micro_batch);
  }
  return text;
}

TEST(Schedule, ListsEachMicroBatchOnceForwardFirst) {
  EXPECT_THAT(schedules().names(), ElementsAre("1f1b", "gpipe"));
  for (const std::string& name : schedules().names()) {
    for (std::uint32_t stages = 1; stages <= 6; ++stages) {
      for (std::uint32_t stage = 0; stage < stages; ++stage) {
        for (const std::uint32_t count : {1U, 2U, 3U, 5U, 8U, 17U}) {
          std::vector<int> forward(count);
          std::vector<int> backward(count);
          for (const ScheduleEntry& entry : entries(name, stage, stages, count)) {
            ASSERT_LT(entry.micro_batch, count);
            if (entry.phase == Phase::forward) {
              ++forward[entry.micro_batch];
            } else {
              ASSERT_EQ(entry.phase, Phase::backward);
              ASSERT_EQ(forward[entry.micro_batch], 1) << name;
              ++backward[entry.micro_batch];
            }
          }
          EXPECT_EQ(forward, std::vector<int>(count, 1)) << name;
          EXPECT_EQ(backward, std::vector<int>(count, 1)) << name;
        }
      }
    }
  }
}

TEST(Schedule, KeepsAsManyInFlightAsPromised) {
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      for (const std::uint32_t count : {1U, 2U, 5U, 17U}) {
        EXPECT_EQ(micro_batches_in_flight(entries("1f1b", stage, stages, count)),
                  std::min(stages - stage, count));
        EXPECT_EQ(micro_batches_in_flight(entries("gpipe", stage, stages, count)), count);
      }
    }
  }
}

TEST(Schedule, LooksAsInThePapers) {
  EXPECT_EQ(text_of(entries("gpipe", 1, 3, 3)), "f0f1f2b2b1b0");
  EXPECT_EQ(text_of(entries("1f1b", 0, 3, 5)), "f0f1f2b0f3b1f4b2b3b4");
  EXPECT_EQ(text_of(entries("1f1b", 2, 3, 3)), "f0b0f1b1f2b2");
  EXPECT_EQ(text_of(entries("1f1b", 0, 4, 2)), "f0f1b0b1");
}

// The stage next door takes what a stage sends in the order sent, forward and backward.
TEST(Schedule, NeighboursAgreeOnTheOrder) {
  const auto order_of = [](const std::vector<ScheduleEntry>& list, Phase phase) {
    std::vector<std::uint32_t> order;
    for (const ScheduleEntry& entry : list) {
      if (entry.phase == phase) {
        order.push_back(entry.micro_batch);
      }
    }
    return order;
  };
  for (const std::string& name : schedules().names()) {
    for (std::uint32_t stage = 0; stage + 1 < 5; ++stage) {
      const auto here = entries(name, stage, 5, 9);
      const auto next = entries(name, stage + 1, 5, 9);
      EXPECT_EQ(order_of(here, Phase::forward), order_of(next, Phase::forward));
      EXPECT_EQ(order_of(here, Phase::backward), order_of(next, Phase::backward));
    }
  }
}

}  // namespace
}  // namespace tessera::plan
