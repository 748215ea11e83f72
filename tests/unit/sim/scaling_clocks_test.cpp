#include "tessera/sim/scaling/clocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/scaling/sends_under_way.hpp"

namespace tessera::sim::scaling_clocks_test {
namespace {

constexpr std::array<std::uint64_t, 2> ten_and_four{10, 4};

TEST(RegionClocks, WithoutMessagesTimeIsEvents) {
  const RegionClocks clocks(2, {});
  EXPECT_DOUBLE_EQ(clocks.perfect(ten_and_four).path, 10);
  EXPECT_DOUBLE_EQ(clocks.promised(ten_and_four).path, 10);
  EXPECT_EQ(clocks.perfect(ten_and_four).all_waits, 0U);
}

// Region 1 has done 3 events when it comes to window 2, which needs what region 0 sent at 10.
TEST(RegionClocks, WaitsForWhatHasNotComeYet) {
  RegionClocks clocks(2, {.message = 5});
  clocks.come_to(1, 2, 3);
  clocks.received(1, 0, clocks.now(0, 10));
  EXPECT_DOUBLE_EQ(clocks.now(1, 3).perfect, 15);
  // The question is there at 8, before the event: asking costs nothing more.
  EXPECT_DOUBLE_EQ(clocks.now(1, 3).promised, 15);
  EXPECT_EQ(clocks.perfect(ten_and_four).waits, 1U);
  EXPECT_EQ(clocks.promised(ten_and_four).exchanges, 1U);
}

TEST(RegionClocks, AskingTakesAMessageMore) {
  for (const double messages : {1.0, 2.0, 4.0}) {
    RegionClocks clocks(2, {.message = 5, .wait_messages = messages});
    clocks.come_to(1, 2, 12);
    clocks.received(1, 0, {10, 10});
    EXPECT_DOUBLE_EQ(clocks.now(1, 12).perfect, 15);
    EXPECT_DOUBLE_EQ(clocks.now(1, 12).promised, 12 + messages * 5);
  }
}

// What lies at its sender is asked for though it was sent long ago; perfect lookahead has it.
TEST(RegionClocks, WhatIsNotSentUnaskedHasToBeAskedFor) {
  RegionClocks clocks(2, {.message = 5, .exchange_every = 100});
  clocks.come_to(1, 2, 100);
  clocks.received(1, 0, {10, 10});
  EXPECT_DOUBLE_EQ(clocks.now(1, 100).perfect, 100);
  EXPECT_DOUBLE_EQ(clocks.now(1, 100).promised, 110);
  clocks.come_to(1, 3, 200);  // at 210; the answer left at 105
  clocks.received(1, 0, {60, 104});
  EXPECT_DOUBLE_EQ(clocks.now(1, 200).promised, 210);
  EXPECT_EQ(clocks.promised(ten_and_four).exchanges, 1U);
  clocks.come_to(1, 4, 200);
  clocks.received(1, 0, {60, 106});  // sent unasked at 206 at the latest, there at 211
  EXPECT_DOUBLE_EQ(clocks.now(1, 200).promised, 211);
  clocks.come_to(1, 5, 300);  // at 311
  clocks.received(1, 0, {60, 206});
  EXPECT_DOUBLE_EQ(clocks.now(1, 300).promised, 311);
  EXPECT_EQ(clocks.promised(ten_and_four).exchanges, 2U);
  EXPECT_EQ(clocks.promised(ten_and_four).waits, 2U);
  EXPECT_EQ(clocks.perfect(ten_and_four).waits, 0U);
}

TEST(RegionClocks, AWindowIsWaitedForOnce) {
  RegionClocks clocks(3, {.message = 5});
  clocks.come_to(2, 1, 0);
  clocks.received(2, 0, {10, 10});
  clocks.received(2, 1, {30, 30});
  clocks.received(2, 0, {20, 20});
  const std::array<std::uint64_t, 3> done{10, 30, 3};
  EXPECT_DOUBLE_EQ(clocks.perfect(done).path, 38);
  EXPECT_EQ(clocks.perfect(done).waits, 1U);
  EXPECT_EQ(clocks.promised(done).waits, 1U);
  EXPECT_EQ(clocks.promised(done).exchanges, 3U);
}

TEST(RegionClocks, CrossingEventsAndExchangesCostBothEnds) {
  RegionClocks clocks(2, {.message = 5, .remote_event = 0.5, .exchange = 2});
  clocks.come_to(0, 0, 0);
  clocks.sent(0);
  clocks.come_to(1, 1, 1);
  clocks.received(1, 0, {0, 0});
  EXPECT_DOUBLE_EQ(clocks.now(0, 1).perfect, 1.5);
  EXPECT_DOUBLE_EQ(clocks.now(0, 1).promised, 3.5);
  EXPECT_DOUBLE_EQ(clocks.now(1, 1).perfect, 5.5);
  EXPECT_DOUBLE_EQ(clocks.now(1, 1).promised, 13.5);  // 1, and a question and its answer
  const std::array<std::uint64_t, 2> done{1, 1};
  EXPECT_DOUBLE_EQ(clocks.promised(done).path_messages, 2.5);
}

TEST(RegionClocks, RefusesCostsThatMeanNothing) {
  EXPECT_THROW(RegionClocks(2, {.message = -1}), InternalError);
  EXPECT_THROW(RegionClocks(2, {.wait_messages = 0.5}), InternalError);
}

TEST(SendsUnderWay, FindsEachOnce) {
  SendsUnderWay under_way;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
  std::mt19937 random(7);
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t source = random() % 64;
    const std::uint32_t sequence = random() % 16;
    const auto found = expected.find({source, sequence});
    if (found != expected.end()) {
      EXPECT_EQ(under_way.take(EntityId(source), sequence), found->second);
      expected.erase(found);
      continue;
    }
    EXPECT_EQ(under_way.take(EntityId(source), sequence), SendsUnderWay::none);
    const std::uint32_t slot = under_way.add(EntityId(source), sequence);
    EXPECT_LT(slot, under_way.slots());
    for (const auto& [key, other] : expected) {
      ASSERT_NE(slot, other);
    }
    expected[{source, sequence}] = slot;
  }
  EXPECT_EQ(under_way.size(), expected.size());
  EXPECT_LE(under_way.slots(), 64U * 16);
}

}  // namespace
}  // namespace tessera::sim::scaling_clocks_test
