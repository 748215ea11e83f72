// What the promise policy of one rank says, sends and counts, call by call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "promise_script.hpp"

namespace tessera::pdes::promise_steps_test {
namespace {

using ::testing::AllOf;
using testing::Batch;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::in_time;
using testing::PromiseScript;
using testing::ps;
using testing::ring_of;

constexpr SimTime never = SimTime::never();
// Less than after which a rank that waits calls a global round, or the first one tells of progress.
constexpr std::chrono::milliseconds silence(150);
constexpr std::chrono::milliseconds report(80);

// Rank 1 of two with an event at 5 ns, of which the other knows what `outlook` says.
class Pair : public PromiseScript {
 public:
  explicit Pair(const Outlook& outlook = {ps(20'000), ps(3000), ps(7000)}) : PromiseScript(1, 2) {
    site.next_at = ps(5000);
    site.outlooks[0] = outlook;
  }
};

TEST(PromiseSteps, OfOneRankAskNobody) {
  PromiseScript alone(0, 1);
  alone.site.next_at = ps(5000);
  alone.communicator.news = true;
  EXPECT_EQ(alone.policy->stretch(), 1U << 18);
  EXPECT_FALSE(alone.policy->has_news());
  RoundSums sums;
  sums.events = 11;
  sums.work_done = 12;
  const RoundResult result = alone.step(sums);
  EXPECT_TRUE(result.global);
  EXPECT_TRUE(result.bound.is_never());
  EXPECT_EQ(result.global_next, ps(5000));
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.sums.events, 11);
  EXPECT_EQ(result.sums.work_done, 12);
  EXPECT_EQ(alone.policy->counts().rounds, 1U);
  EXPECT_EQ(alone.policy->counts().waits, 0U);
  EXPECT_EQ(alone.policy->counts().batches, 0U);
  EXPECT_EQ(alone.communicator.brought.size(), 1U);
  alone.site.next_at = never;
  EXPECT_TRUE(alone.step().finished);
}

TEST(PromiseSteps, SayWhatIsWantedAndWhenSomethingComes) {
  in_time(silence, [] {
    Pair pair;
    EXPECT_FALSE(pair.policy->has_news());
    pair.communicator.news = true;
    EXPECT_TRUE(pair.policy->has_news());
    EXPECT_EQ(pair.policy->stretch(), 768U);
    const RoundResult result = pair.step();
    EXPECT_FALSE(result.global);
    EXPECT_FALSE(result.finished);
    EXPECT_EQ(result.bound, SimTime::zero());
    const std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_EQ(posted[0].rank, 0);
    EXPECT_FALSE(posted[0].wakes);
    EXPECT_EQ(posted[0].events.size(), 3U) << "one of the two neighbours, itself, and the end";
    const auto told = pair.read(posted[0]);
    EXPECT_EQ(told.wanted, ps(6000));
    EXPECT_EQ(told.towards.at, ps(8000));
    EXPECT_EQ(told.towards.through, ps(3000));
    EXPECT_TRUE(told.towards.sent.is_never());
    EXPECT_EQ(told.towards.bound, SimTime::zero());
    EXPECT_EQ(told.towards.posted, 0U);
    EXPECT_EQ(told.towards.received, 0U);
    EXPECT_EQ(pair.policy->counts().waits, 1U);
    EXPECT_EQ(pair.policy->counts().batches, 1U);
    EXPECT_EQ(pair.communicator.awaited, 1);
    // Nothing new is to be said, and it is the same wait.
    pair.step();
    EXPECT_TRUE(pair.posted().empty());
    EXPECT_EQ(pair.policy->counts().waits, 1U);
    EXPECT_EQ(pair.communicator.awaited, 2);
    EXPECT_EQ(pair.policy->counts().rounds, 0U);
  });
}

TEST(PromiseSteps, RunUpToWhatTheOtherMakesOfThem) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(50'000), .through = ps(4000)});
    EXPECT_EQ(pair.step().bound, ps(12'000)) << "8 ns there and 4 ns back";
    EXPECT_EQ(pair.communicator.awaited, 0);
    EXPECT_EQ(pair.policy->counts().waits, 0U);
    EXPECT_TRUE(pair.posted().empty()) << "that it wanted to go on was of no interest";
    // It may go on just as long as the whole window lies before that.
    pair.site.next_at = ps(11'000);
    pair.site.outlooks[0] = {never, never, never};
    pair.step();
    EXPECT_EQ(pair.communicator.awaited, 0);
    pair.hear(0, {.at = ps(50'000), .through = ps(4000)});
    EXPECT_EQ(pair.step().bound, ps(12'000)) << "not asked for more than is needed";
    pair.site.next_at = ps(11'001);
    EXPECT_EQ(pair.step().bound, ps(50'000));
    pair.site.next_at = ps(49'001);
    pair.step();
    EXPECT_EQ(pair.communicator.awaited, 1);
    EXPECT_EQ(pair.read(pair.last_posted()).wanted, ps(50'001));
    EXPECT_EQ(pair.policy->counts().waits, 1U);
  });
}

// Of a rank that does not wait every fourth look.
TEST(PromiseSteps, TellWhoWorksNowAndThen) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(50'000)});
    std::vector<int> told_at;
    for (int step = 1; step <= 12; ++step) {
      if (step > 6) {
        pair.site.next_at += ps(10);  // something new to say
      }
      pair.step();
      const std::vector<Batch> posted = pair.posted();
      if (!posted.empty()) {
        told_at.push_back(step);
        EXPECT_EQ(posted.size(), 1U);
        EXPECT_TRUE(posted[0].wakes);
        EXPECT_EQ(pair.read(posted[0]).wanted, SimTime::zero());
      }
    }
    EXPECT_THAT(told_at, ElementsAre(4, 8, 12));
    EXPECT_EQ(pair.policy->counts().batches, 3U);
    for (int step = 0; step < 3; ++step) {
      pair.step();
    }
    EXPECT_TRUE(pair.posted().empty());
    pair.step();
    EXPECT_TRUE(pair.posted().empty()) << "nothing new";
  });
}

TEST(PromiseSteps, TellWhoWaitsOnceItMayGoOn) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(50'000), .wanted = ps(9000)});
    pair.step();
    EXPECT_EQ(pair.policy->stretch(), 256U);
    EXPECT_TRUE(pair.posted().empty()) << "8 ns are not enough";
    EXPECT_EQ(pair.site.wanted, (std::vector{ps(9000)})) << "models are asked once";
    for (int look = 0; look < 8; ++look) {
      pair.step();
      EXPECT_TRUE(pair.posted().empty());
    }
    pair.site.next_at = ps(6000);
    pair.step();
    const std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_TRUE(posted[0].wakes);
    EXPECT_EQ(pair.read(posted[0]).towards.at, ps(9000));
    pair.step();
    EXPECT_TRUE(pair.posted().empty()) << "it was told";
    EXPECT_EQ(pair.policy->stretch(), 768U);
    pair.hear(0, {.at = ps(50'000), .wanted = ps(9500)});
    pair.step();
    EXPECT_EQ(pair.policy->stretch(), 256U) << "it waits for more";
  });
}

// A rank that waits itself says so at once, and wakes only who can go on.
TEST(PromiseSteps, WakeWhoCanGoOnWhileTheyWait) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(5500), .wanted = ps(8001)});
    pair.step();
    std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_FALSE(posted[0].wakes);
    pair.hear(0, {.at = ps(5500), .wanted = ps(8000)});
    pair.step();
    posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_TRUE(posted[0].wakes);
    pair.step();
    EXPECT_TRUE(pair.posted().empty());
    EXPECT_EQ(pair.policy->counts().waits, 1U);
    EXPECT_EQ(pair.communicator.awaited, 3);
  });
}

TEST(PromiseSteps, SendEventsAtOnceAndCountThemUntilTheyAreKnown) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(50'000)});
    pair.site.send(0, ps(30'000));
    pair.step();
    std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_TRUE(posted[0].wakes);
    PromiseScript::Told told = pair.read(posted[0]);
    EXPECT_EQ(told.events, 1U);
    EXPECT_EQ(told.towards.posted, 1U);
    EXPECT_EQ(told.towards.sent, ps(30'000));
    EXPECT_TRUE(pair.site.outboxes()[0].events.empty());
    EXPECT_TRUE(pair.site.outboxes()[0].earliest.is_never());
    pair.site.send(0, ps(25'000));
    pair.site.send(0, ps(26'000));
    pair.step();
    told = pair.read(pair.last_posted());
    EXPECT_EQ(told.events, 2U);
    EXPECT_EQ(told.towards.posted, 2U);
    EXPECT_EQ(told.towards.sent, ps(25'000));
    // The second batch is known there, the first not yet: batches keep their order, so both are.
    pair.hear(0, {.at = ps(50'000), .received = 1});
    pair.site.send(0, ps(40'000));
    pair.step();
    EXPECT_EQ(pair.read(pair.last_posted()).towards.sent, ps(25'000));
    pair.hear(0, {.at = ps(50'000), .received = 2});
    pair.site.send(0, ps(41'000));
    pair.step();
    told = pair.read(pair.last_posted());
    EXPECT_EQ(told.towards.sent, ps(40'000));
    EXPECT_EQ(told.towards.posted, 4U);
    pair.hear(0, {.at = ps(50'000), .received = 4});
    for (int look = 0; look < 4; ++look) {
      pair.step();
    }
    told = pair.read(pair.last_posted());
    EXPECT_EQ(told.events, 0U);
    EXPECT_TRUE(told.towards.sent.is_never());
    EXPECT_EQ(told.towards.posted, 4U);
    EXPECT_EQ(pair.policy->counts().batches, 5U);
  });
}

TEST(PromiseSteps, SendEventsBeforeTheyWait) {
  in_time(silence, [] {
    Pair pair;
    pair.site.send(0, ps(30'000));
    pair.step();
    const std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_TRUE(posted[0].wakes);
    EXPECT_EQ(pair.read(posted[0]).events, 1U);
    EXPECT_EQ(pair.communicator.awaited, 1);
  });
}

TEST(PromiseSteps, CountWhatComesIn) {
  in_time(silence, [] {
    Pair pair;
    pair.hear(0, {.at = ps(50'000), .posted = 1, .events = {ps(31'000), ps(30'000)}});
    pair.hear(0, {.at = ps(50'000), .posted = 1});
    pair.hear(0, {.at = ps(50'000), .posted = 2, .events = {ps(32'000)}});
    for (int look = 0; look < 4; ++look) {
      pair.step();
    }
    ASSERT_EQ(pair.site.arrived.size(), 3U);
    EXPECT_EQ(pair.site.arrived[1].time, ps(30'000));
    EXPECT_EQ(pair.read(pair.last_posted()).towards.received, 2U);
  });
}

// Nothing is left before the pause: it waits for that, which is no wait with work.
TEST(PromiseSteps, ArriveAtAPauseOnce) {
  in_time(silence, [] {
    Pair pair;
    pair.site.limit_at = ps(10'000);
    pair.site.next_at = ps(10'000);
    pair.hear(0, {.at = ps(9999)});
    pair.step();
    std::vector<Batch> posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U) << "something may still come in";
    EXPECT_EQ(pair.read(posted[0]).wanted, ps(10'000));
    pair.hear(0, {.at = ps(10'000)});
    pair.step();
    posted = pair.posted();
    ASSERT_EQ(posted.size(), 1U);
    EXPECT_EQ(posted[0].rank, 0);
    EXPECT_TRUE(posted[0].wakes);
    ASSERT_EQ(posted[0].events.size(), 1U);
    EXPECT_EQ(posted[0].events[0].flags, is_arrived);
    EXPECT_EQ(posted[0].events[0].sequence, 0U);
    pair.step();
    EXPECT_TRUE(pair.posted().empty());
    EXPECT_EQ(pair.policy->counts().waits, 0U);
    EXPECT_EQ(pair.communicator.awaited, 3);
    // Again at the next pause, after the global round of this one.
    pair.hear_mark(0, calls, 1);
    pair.communicator.on_reduce = [](std::span<comm::MinSum> values) {
      values[1].count = values.size() == 2 ? 3 : 0;
    };
    EXPECT_TRUE(pair.step().global);
    pair.posted();
    pair.site.limit_at = never;
    pair.site.next_at = never;
    pair.hear(0, {.at = never});
    pair.step();
    posted = pair.posted();
    ASSERT_FALSE(posted.empty());
    EXPECT_EQ(posted.back().events.back().flags, is_arrived);
    EXPECT_EQ(posted.back().events.back().sequence, 1U);
  });
}

// The first rank calls the round when all ranks have arrived at this pause.
TEST(PromiseSteps, MeetWhenAllHaveArrived) {
  in_time(report, [] {
    PromiseScript first(0, 3);
    first.communicator.on_reduce = [](std::span<comm::MinSum> values) { values[0].count = 0; };
    for (const std::uint32_t number : {0U, 1U}) {
      first.hear(1, {});
      first.hear(2, {});
      first.hear_mark(1, is_arrived, number + 7);  // of another pause
      EXPECT_FALSE(first.step().global) << "it has arrived itself";
      first.hear_mark(1, is_arrived, number);
      EXPECT_FALSE(first.step().global);
      EXPECT_FALSE(first.step().global) << "counts itself once";
      first.posted();
      first.hear_mark(2, is_arrived, number);
      const RoundResult result = first.step();
      EXPECT_TRUE(result.global);
      EXPECT_TRUE(result.finished);
      const std::vector<Batch> posted = first.posted();
      ASSERT_EQ(posted.size(), 2U);
      for (const Batch& batch : posted) {
        EXPECT_TRUE(batch.wakes);
        ASSERT_EQ(batch.events.size(), 1U);
        EXPECT_EQ(batch.events[0].flags, calls);
        EXPECT_EQ(batch.events[0].sequence, number + 1);
      }
      EXPECT_EQ(first.policy->counts().rounds, number + 1);
    }
  });
}

}  // namespace
}  // namespace tessera::pdes::promise_steps_test
