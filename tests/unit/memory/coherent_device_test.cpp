// What lines make a device do, and how accesses are cut: by hand.
#include "coherent/device.hpp"

#include <gtest/gtest.h>

#include "coherent/requester.hpp"

namespace tessera::memory::coherent_device_test {
namespace {

Fraction percent(std::uint64_t share) {
  return Fraction::millionths(share * 10'000);
}

TEST(CoherentShares, CleanLinesAreOfTheChannelAlone) {
  CoherentShares shares;
  const CoherentSteps steps = shares.steps_of({}, {7, 3});
  EXPECT_EQ(steps.now.reads, 7U);
  EXPECT_EQ(steps.now.writes, 3U);
  EXPECT_EQ(steps.later.count() + steps.messages + steps.written_back, 0U);
}

// Half of the lines are dirty: those that are read come from owners and are written back, those
// that are written wait for them.
TEST(CoherentShares, DirtyLinesAreNotReadFromTheChannel) {
  CoherenceOptions options;
  options.dirty = percent(50);
  CoherentShares shares;
  const CoherentSteps steps = shares.steps_of(options, {8, 4});
  EXPECT_EQ(steps.now.reads, 4U);
  EXPECT_EQ(steps.now.writes, 2U);
  EXPECT_EQ(steps.later.reads, 0U);
  EXPECT_EQ(steps.later.writes, 2U);
  EXPECT_EQ(steps.forwarded, 4U);
  EXPECT_EQ(steps.written_back, 4U);
  EXPECT_EQ(steps.messages, 6U);
  EXPECT_EQ(steps.with_data, 6U);
}

TEST(CoherentShares, EveryWriteWaitsForItsSharers) {
  CoherenceOptions options;
  options.sharers_millionths = 2 * Fraction::one + Fraction::one / 2;
  CoherentShares shares;
  CoherentSteps steps = shares.steps_of(options, {5, 3});
  EXPECT_EQ(steps.now.reads, 5U);
  EXPECT_EQ(steps.later.writes, 3U);
  EXPECT_EQ(steps.messages, 7U);  // and half a one, for next time
  EXPECT_EQ(steps.with_data, 0U);
  EXPECT_EQ(shares.steps_of(options, {0, 1}).messages, 3U);
  options.sharers_millionths = Fraction::one / 4;
  CoherentShares few;
  steps = few.steps_of(options, {0, 8});
  EXPECT_EQ(steps.messages, 2U);
  EXPECT_EQ(steps.later.writes, 2U);
  EXPECT_EQ(steps.now.writes, 6U);
}

// A line of another cache goes first: with its data, if that is dirty.
TEST(CoherentShares, LostLinesWaitForRoomInTheFilter) {
  CoherenceOptions options;
  options.filter_miss = percent(25);
  CoherentShares shares;
  const CoherentSteps steps = shares.steps_of(options, {6, 2});
  EXPECT_EQ(steps.messages, 2U);
  EXPECT_EQ(steps.later.reads, 2U);
  EXPECT_EQ(steps.now.reads, 4U);
  EXPECT_EQ(steps.forwarded + steps.written_back + steps.with_data, 0U);
}

// Of single lines as of many: the sum is the mean, rounded down.
TEST(CoherentShares, PartsAddUp) {
  CoherenceOptions options;
  options.dirty = percent(7);
  options.filter_miss = percent(2);
  options.sharers_millionths = Fraction::one * 13 / 10;
  CoherentShares in_ones;
  CoherentSteps sum;
  for (int line = 0; line < 1000; ++line) {
    const CoherentSteps steps = in_ones.steps_of(options, {1, 0});
    EXPECT_EQ(steps.now.reads + steps.later.reads + steps.forwarded, 1U);
    sum.forwarded += steps.forwarded;
    sum.messages += steps.messages;
  }
  EXPECT_EQ(sum.forwarded, 70U);
  EXPECT_EQ(sum.messages, 90U);
}

TEST(CoherentDevice, OperationsWaitForANumber) {
  CoherentDevice device;
  for (std::uint32_t i = 0; i < 65'536; ++i) {
    ASSERT_EQ(device.begin({{}, i, 0}), i);
  }
  EXPECT_FALSE(device.next());
  EXPECT_FALSE(device.begin({{}, 99, 0}));
  EXPECT_EQ(device.under_way.remove(1234).lines, 1234U);
  const auto next = device.next();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->lines, 99U);
  EXPECT_EQ(device.begin(*next), 1234);
}

TEST(CoherentRequester, PiecesFillTheWindow) {
  CoherentRequester requester;
  requester.open({7, 3}, 4, pdes::Port(1, 2), 5);
  requester.open({2, 0}, 4, pdes::Port(1, 3), 6);
  std::uint64_t writes = 0;
  for (const std::uint64_t expected : {4U, 4U}) {
    const auto piece = requester.next(9);
    ASSERT_TRUE(piece);
    EXPECT_EQ(piece->lines.count(), expected);
    EXPECT_EQ(piece->tag, 5);
    writes += piece->lines.writes;
  }
  EXPECT_FALSE(requester.next(9));  // two lines of the first are next, and one would have room
  EXPECT_FALSE(requester.take(4, 5));
  const auto last = requester.next(9);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->lines.count(), 2U);
  EXPECT_EQ(writes + last->lines.writes, 3U);
  EXPECT_EQ(requester.next(9)->tag, 6);
  EXPECT_FALSE(requester.next(9));
  EXPECT_EQ(requester.take(2, 6), pdes::Port(1, 3));
  EXPECT_FALSE(requester.take(4, 5));
  EXPECT_EQ(requester.take(2, 5), pdes::Port(1, 2));
}

TEST(CoherentPieces, LeaveFewLinesIdle) {
  CoherenceOptions options;
  EXPECT_EQ(Coherence(options).piece_lines(100), 64U);
  EXPECT_EQ(Coherence(options).piece_lines(256'000), 1000U);
  EXPECT_EQ(Coherence(options).piece_lines(1ULL << 34U), 65'536U);
  const auto of_window = [&options](std::uint64_t lines) {
    options.outstanding = lines;
    return Coherence(options).piece_lines(1'000'000);
  };
  EXPECT_EQ(of_window(1), 1U);
  EXPECT_EQ(of_window(31), 1U);
  EXPECT_EQ(of_window(128), 8U);
  EXPECT_EQ(of_window(111), 3U);  // of 6 lines there would be 18, and three idle
  EXPECT_EQ(of_window(400), 25U);
  EXPECT_EQ(of_window(100'000), 50U);
}

}  // namespace
}  // namespace tessera::memory::coherent_device_test
