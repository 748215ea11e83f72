#include "search/choice.hpp"

#include <gtest/gtest.h>

namespace tessera::explore::choice_test {
namespace {

Ranked ranked(std::uint32_t pipeline, std::uint32_t micro_batch, double least, double likely) {
  Ranked each;
  each.candidate.degrees.pipeline = pipeline;
  each.candidate.micro_batch = micro_batch;
  each.candidate.layout = "linear";
  each.iteration = {least, likely};
  return each;
}

SimTime ps(std::int64_t time) {
  return SimTime::from_ps(time);
}

TEST(Choice, TakesTheBestEstimatesFirst) {
  const std::vector<Ranked> all{ranked(1, 1, 50, 100), ranked(1, 2, 50, 110), ranked(1, 4, 50, 120),
                                ranked(2, 1, 50, 130)};
  const Choice choice(all, 0.02);
  EXPECT_EQ(choice.next(8), (std::vector<std::size_t>{0, 1, 3}));  // two of the same degrees
  EXPECT_EQ(choice.next(1), (std::vector<std::size_t>{0}));
}

TEST(Choice, NeverPassesOverABoundThatIsShorterForAnotherBound) {
  const std::vector<Ranked> all{ranked(1, 1, 50, 100), ranked(2, 1, 99, 101),
                                ranked(4, 1, 100, 101)};
  Choice choice(all, 0.02);
  choice.learn(0, ps(100));
  EXPECT_EQ(choice.next(8), (std::vector<std::size_t>{1}));
  EXPECT_EQ(choice.bounded(), 1U);
}

// By its bound, as the one before it may show.
TEST(Choice, SimulatesNothingLargeBesideWhatMayRuleItOut) {
  const std::vector<Ranked> all{ranked(1, 1, 90, 100), ranked(2, 1, 101, 101),
                                ranked(4, 1, 110, 111)};
  Choice choice(all, 0.02);
  EXPECT_EQ(choice.next(4), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(choice.next_of_large(4), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(choice.next_of_large(1), (std::vector<std::size_t>{0}));
  choice.learn(0, ps(120));
  EXPECT_EQ(choice.next_of_large(4), (std::vector<std::size_t>{1}));
  choice.learn(1, ps(130));
  EXPECT_EQ(choice.next_of_large(4), (std::vector<std::size_t>{2}));
}

TEST(Choice, TriesNoRepetitionWhereAsManyMicroBatchesOfTheSameHadNone) {
  const std::vector<Ranked> all{ranked(1, 1, 50, 100), ranked(1, 1, 50, 110), ranked(1, 2, 50, 120),
                                ranked(2, 1, 50, 130)};
  Choice choice(all, 0.02);
  choice.learn(2, ps(100), true);
  EXPECT_TRUE(choice.may_repeat(0));
  choice.learn(0, ps(100), false);
  EXPECT_FALSE(choice.may_repeat(1));
  EXPECT_TRUE(choice.may_repeat(2));
  EXPECT_TRUE(choice.may_repeat(3));
}

TEST(Choice, CorrectsEstimatesOfTheSameDegrees) {
  const std::vector<Ranked> all{ranked(1, 1, 10, 100), ranked(1, 2, 10, 105),
                                ranked(2, 1, 10, 160)};
  Choice choice(all, 0.02);
  choice.learn(0, ps(200));
  // That of the same degrees is likely as slow; others are not known to be.
  EXPECT_EQ(choice.next(8).front(), 2U);
  choice.learn(2, ps(150));
  EXPECT_TRUE(choice.next(8).empty());
  EXPECT_EQ(choice.open(), 1U);
}

// What passes in a V wait for each other is not in estimates alike.
TEST(Choice, CorrectsSchedulesInAVApart) {
  std::vector<Ranked> all{ranked(2, 1, 10, 100), ranked(2, 2, 10, 105), ranked(2, 4, 10, 106)};
  all[0].candidate.schedule = "zb-v";
  Choice choice(all, 0.02);
  choice.learn(0, ps(200));
  EXPECT_EQ(choice.next(8), (std::vector<std::size_t>{1, 2}));
}

// That of chunks, which messages hold up more, says nothing of others.
TEST(Choice, CorrectsSchedulesApart) {
  std::vector<Ranked> all{ranked(4, 1, 10, 100), ranked(4, 2, 10, 101), ranked(4, 1, 10, 103),
                          ranked(4, 4, 10, 104)};
  all[0].candidate.schedule = "zb-v";
  all[1].candidate.schedule = "interleaved";
  all[2].candidate.schedule = "zb-h1";
  all[3].candidate.schedule = "interleaved";
  Choice choice(all, 0.02);
  choice.learn(0, ps(110));
  choice.learn(1, ps(142));
  EXPECT_EQ(choice.next(8), (std::vector<std::size_t>{2}));
}

TEST(Choice, TriesUnknownDegreesWithTheSmallestRatioSeen) {
  const std::vector<Ranked> all{ranked(1, 1, 10, 100), ranked(2, 1, 10, 150)};
  Choice choice(all, 0.02);
  choice.learn(0, ps(60));
  EXPECT_TRUE(choice.next(8).empty());  // 150 * 0.6 = 90 > 60
  Choice close(all, 0.02);
  close.learn(0, ps(95));
  EXPECT_TRUE(close.next(8).empty());
  Choice open(all, 0.02);
  open.learn(0, ps(160));
  EXPECT_EQ(open.next(8), (std::vector<std::size_t>{1}));
}

TEST(Choice, WidensItsMarginByWhatItSees) {
  const std::vector<Ranked> all{ranked(1, 1, 10, 100), ranked(1, 2, 10, 110),
                                ranked(1, 4, 10, 118)};
  Choice choice(all, 0.02);
  EXPECT_DOUBLE_EQ(choice.margin(), 0.02);
  choice.learn(0, ps(100));
  choice.learn(1, ps(99));  // 10 % less than expected
  EXPECT_NEAR(choice.margin(), 0.1, 1e-9);
  EXPECT_EQ(choice.next(8), std::vector<std::size_t>{});
  choice.beat(ps(50));
  EXPECT_EQ(choice.best(), 50);
}

// Of a kind that nobody has seen the estimate may be off as well.
TEST(Choice, WidensItsMarginByTheFirstOfAKind) {
  const std::vector<Ranked> all{ranked(1, 1, 10, 100), ranked(2, 1, 10, 101),
                                ranked(4, 1, 10, 104)};
  Choice choice(all, 0.02);
  choice.learn(0, ps(100));
  EXPECT_DOUBLE_EQ(choice.margin(), 0.02);  // nothing was there to correct it by
  choice.learn(1, ps(95));
  EXPECT_NEAR(choice.margin(), 1 - 95.0 / 101, 1e-9);
  EXPECT_EQ(choice.next(8), std::vector<std::size_t>{2});
}

TEST(Choice, HasTheMarginThatItIsGivenAtLeast) {
  const std::vector<Ranked> all{ranked(1, 1, 10, 100), ranked(2, 1, 10, 114),
                                ranked(4, 1, 10, 120)};
  Choice choice(all, 0.15);
  choice.learn(0, ps(100));
  EXPECT_EQ(choice.next(8), std::vector<std::size_t>{1});
  Choice narrow(all, 0.02);
  narrow.learn(0, ps(100));
  EXPECT_TRUE(narrow.next(8).empty());
}

// Whatever estimates say.
TEST(Choice, TakesAllThatBoundsLeaveWhereSimulationsAreShort) {
  const std::vector<Ranked> all{ranked(1, 1, 50, 100), ranked(2, 1, 99, 900),
                                ranked(4, 1, 100, 101)};
  Choice choice(all, 0.02);
  EXPECT_EQ(choice.next_by_bounds(8), (std::vector<std::size_t>{0, 2, 1}));
  choice.learn(0, ps(100));
  EXPECT_TRUE(choice.next(8).empty());
  EXPECT_EQ(choice.next_by_bounds(8), std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace tessera::explore::choice_test
