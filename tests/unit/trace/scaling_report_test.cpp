#include "tessera/trace/scaling_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/error.hpp"

namespace tessera::trace::scaling_report_test {
namespace {

using ::testing::HasSubstr;

ScalingReport two_rows() {
  ScalingReport report;
  report.costs = {1e-7, 2e-8, 1e-6, 48e9, 1e-6, 2e-6, 1e-9, 3e-7, 2, 256, {{"event_s", "given"}}};
  report.predictions.resize(2);
  report.predictions[0].counts = {1, 1000, 1000, 50, 50, 0, 0, 1000, 0, 0, {1000}, {1000}};
  report.predictions[1].counts = {
      4, 1000, 300, 40, 50, 100, 20, 400, 60, 15, {400, 12, 7, 20}, {500, 50, 9, 30, 11}};
  report.predictions[1].partition = "blocks";
  report.predictions[1].ranks = 4;
  return report;
}

TEST(ScalingReport, TimesFollowFromCountsAndCosts) {
  ScalingReport report = two_rows();
  predict_times(report);
  const ScalingPrediction& one = report.predictions[0];
  EXPECT_DOUBLE_EQ(one.wall_s, 1e-4);  // nothing but events
  EXPECT_DOUBLE_EQ(one.efficiency(), 1);
  const ScalingPrediction& four = report.predictions[1];
  EXPECT_DOUBLE_EQ(four.work_s, 250e-7);
  EXPECT_DOUBLE_EQ(four.waiting_s, 150e-7);
  const double reduction = 1e-6 + 2 * 2e-6 + 10 * (1e-9 + 32 / 48e9);
  EXPECT_DOUBLE_EQ(four.reductions_s, 50 * reduction);
  EXPECT_DOUBLE_EQ(four.messages_s, 15 * 1e-6 + 60 * (1e-9 + 2e-8));
  EXPECT_DOUBLE_EQ(four.wall_s, four.work_s + four.waiting_s + four.reductions_s + four.messages_s);
  EXPECT_DOUBLE_EQ(four.speed_up, one.wall_s / four.wall_s);
  EXPECT_DOUBLE_EQ(four.efficiency(), four.speed_up / 4);
  EXPECT_DOUBLE_EQ(four.imbalance, 1.2);
}

TEST(ScalingReport, SpeedUpsFollowFromTheClocks) {
  ScalingReport report = two_rows();
  predict_times(report);
  const ScalingPrediction rounds = report.predictions[1];
  EXPECT_DOUBLE_EQ(rounds.bound, 2.5);
  EXPECT_DOUBLE_EQ(rounds.promises_speed_up, 2);
  EXPECT_DOUBLE_EQ(rounds.rounds_speed_up, rounds.speed_up);
  report.by_rounds = false;
  predict_times(report);
  const ScalingPrediction& promises = report.predictions[1];
  EXPECT_DOUBLE_EQ(promises.rounds_speed_up, rounds.speed_up);
  EXPECT_DOUBLE_EQ(promises.speed_up, 2);
  EXPECT_DOUBLE_EQ(promises.wall_s, 500e-7);
  EXPECT_DOUBLE_EQ(promises.work_s, 250e-7);
  EXPECT_DOUBLE_EQ(promises.messages_s, 50e-7);
  EXPECT_DOUBLE_EQ(promises.waiting_s, 200e-7);
  EXPECT_DOUBLE_EQ(promises.reductions_s, 0);
}

TEST(ScalingReport, TextsHoldTheClocks) {
  ScalingReport report = two_rows();
  predict_times(report);
  const std::string json = to_json(report);
  EXPECT_THAT(
      json,
      HasSubstr("\"partition\": \"blocks\",\n      \"ranks\": 4,\n      \"ranks_at_work\": 4"));
  EXPECT_THAT(json, HasSubstr("\"bound\": 2.5"));
  EXPECT_THAT(json, HasSubstr("\"waits\": 7"));
  EXPECT_THAT(json, HasSubstr("\"exchanges\": 11"));
  EXPECT_THAT(to_table(report), HasSubstr("bound"));
  EXPECT_THAT(to_table(report), HasSubstr("blocks"));
}

TEST(ScalingReport, TextsNameWhatLimits) {
  ScalingReport report = two_rows();
  predict_times(report);
  EXPECT_THAT(to_table(report), HasSubstr("reductions"));
  EXPECT_THAT(to_json(report), HasSubstr("\"limit\": \"reductions\""));
  EXPECT_THAT(to_json(report), HasSubstr("\"path_events\": 400"));
}

TEST(ScalingReport, BeginsWithOneRank) {
  ScalingReport report = two_rows();
  report.predictions.erase(report.predictions.begin());
  EXPECT_THROW(predict_times(report), InternalError);
}

}  // namespace
}  // namespace tessera::trace::scaling_report_test
