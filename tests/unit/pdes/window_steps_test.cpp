// What ranks bring into the rounds of the window and the null-message policy, and what follows for
// one of them, call by call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "scripted_rank.hpp"

namespace tessera::pdes::window_steps_test {
namespace {

using testing::Batch;
using ::testing::ElementsAre;
using testing::in_time;
using testing::ScriptedCommunicator;
using testing::ScriptedSite;

constexpr SimTime never = SimTime::never();

SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

Event event_at(std::int64_t time) {
  Event event;
  event.time = ps(time);
  return event;
}

// Rank 1 of three; the others are 2 ns and 3 ns away, and it is 5 ns to itself and back.
RegionDelays delays() {
  RegionDelays delays;
  delays.from = {ps(2000), ps(5000), ps(3000)};
  delays.to = delays.from;
  delays.direct = {
      {0, 1, ps(2000)}, {1, 0, ps(2500)}, {0, 2, ps(1)}, {2, 0, ps(1)}, {2, 1, ps(3000)}};
  return delays;
}

struct Middle {
  using Maker = std::unique_ptr<SyncPolicy> (*)(comm::Communicator&, RegionDelays);
  explicit Middle(Maker make) : communicator(1, 3), site(3), policy(make(communicator, delays())) {
    site.next_at = ps(10'000);
  }
  RoundResult step(const RoundSums& sums = {}) { return policy->advance(site, sums); }
  ScriptedCommunicator communicator;
  ScriptedSite site;
  std::unique_ptr<SyncPolicy> policy;
};

void global_round_of(Middle& middle, std::size_t counters) {
  middle.site.send(2, ps(14'000));
  middle.site.send(2, ps(13'000));
  middle.communicator.coming_in_round = {{0, {event_at(9500)}, false}};
  middle.communicator.on_reduce = [=](std::span<comm::MinSum> values) {
    ASSERT_EQ(values.size(), 3 + 4 + counters);
    EXPECT_TRUE(values[0].earliest.is_never());
    EXPECT_EQ(values[0].count, 0);
    EXPECT_EQ(values[1].earliest, ps(10'000));
    EXPECT_EQ(values[1].count, 0);
    EXPECT_EQ(values[2].earliest, ps(13'000));
    EXPECT_EQ(values[2].count, 1) << "batches";
    values[0] = {ps(12'000), 0};
    values[1] = {ps(9500), 1};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(values[3 + i].count, static_cast<std::int64_t>(i) + 1);
      values[3 + i].count += 10;
    }
  };
  const RoundResult result = middle.step({1, 2, 3, 4});
  EXPECT_TRUE(result.global);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.global_next, ps(9500));
  EXPECT_EQ(result.bound, ps(14'000)) << "rank 0, and 2 ns";
  EXPECT_EQ(result.sums.stop_requests, 11);
  EXPECT_EQ(result.sums.checkpoint_requests, 12);
  EXPECT_EQ(result.sums.events, 13);
  EXPECT_EQ(result.sums.work_done, 14);
  ASSERT_EQ(middle.communicator.posted_in_round.size(), 1U);
  EXPECT_EQ(middle.communicator.posted_in_round[0].rank, 2);
  EXPECT_EQ(middle.communicator.posted_in_round[0].events.size(), 2U);
  EXPECT_TRUE(middle.site.outboxes()[2].events.empty());
  EXPECT_TRUE(middle.site.outboxes()[2].earliest.is_never());
  ASSERT_EQ(middle.site.arrived.size(), 1U);
  EXPECT_EQ(middle.site.arrived[0].time, ps(9500));
  EXPECT_THAT(middle.communicator.asked_for, ElementsAre(1));
  EXPECT_EQ(middle.policy->counts().rounds, 1U);
  EXPECT_EQ(middle.policy->counts().waits, 1U);
  EXPECT_EQ(middle.policy->counts().batches, 1U);
}

TEST(WindowSteps, ReduceWhatIsPendingAndUnderWay) {
  Middle middle(make_window_policy);
  global_round_of(middle, 2);
  EXPECT_EQ(middle.policy->stretch(), 1U << 18);
  EXPECT_FALSE(middle.policy->has_news());
  middle.communicator.on_reduce = [](std::span<comm::MinSum> values) {
    EXPECT_EQ(values[2].count, 0) << "nothing is sent twice";
    std::fill(values.begin(), values.end(), comm::MinSum{});
  };
  EXPECT_TRUE(middle.step().finished);
  EXPECT_EQ(middle.policy->counts().rounds, 2U);
  EXPECT_EQ(middle.policy->counts().waits, 1U) << "the last round has no work";
  EXPECT_EQ(middle.policy->counts().batches, 1U);
}

TEST(WindowSteps, OfOneRankAreNoWaits) {
  ScriptedCommunicator communicator(0, 1);
  ScriptedSite site(1);
  site.next_at = ps(7000);
  RegionDelays alone;
  alone.from = alone.to = {never};
  for (const auto make : {make_window_policy, make_null_message_policy}) {
    const auto policy = make(communicator, alone);
    for (int round = 0; round < 3; ++round) {
      const RoundResult result = policy->advance(site, {.events = round + 1});
      EXPECT_TRUE(result.global) << "rounds of one rank need no stretch";
      EXPECT_TRUE(result.bound.is_never());
      EXPECT_EQ(result.global_next, ps(7000));
    }
    EXPECT_EQ(policy->counts().rounds, 3U);
    EXPECT_EQ(policy->counts().waits, 0U);
    EXPECT_EQ(policy->counts().batches, 0U);
  }
}

TEST(WindowSteps, OfTwoRanksAreWaits) {
  RegionDelays both;
  both.from = both.to = {ps(2000), ps(1000)};
  both.direct = {{0, 1, ps(1000)}, {1, 0, ps(1000)}};
  for (const auto make : {make_window_policy, make_null_message_policy}) {
    ScriptedCommunicator communicator(0, 2);
    ScriptedSite site(2);
    site.next_at = ps(7000);
    const auto policy = make(communicator, both);
    EXPECT_EQ(policy->advance(site, {}).bound, ps(9000)) << "there and back";
    EXPECT_EQ(policy->counts().rounds, 1U);
    EXPECT_EQ(policy->counts().waits, 1U);
  }
}

TEST(NullMessageSteps, BeginWithARoundOfAll) {
  Middle middle(make_null_message_policy);
  middle.site.send(2, ps(13'000));
  // Nothing may go straight to rank 2.
  EXPECT_THROW(middle.step(), ModelError);
}

// A rank with null messages, and what all bring into its global rounds.
struct Rounds : Middle {
  Rounds() : Middle(make_null_message_policy) {
    communicator.on_reduce = [this](std::span<comm::MinSum> values) {
      busy.push_back(values[7].count);
      wall_us.push_back(values[8].count);
      stops.push_back(values[3].count);
      checkpoints.push_back(values[4].count);
      values[0].earliest = ps(0);
      values[7].count = others_busy(values[7].count);
      values[8].count = all_wall_us;
      values[3].count = stops_agreed;
      values[4].count = checkpoints_agreed;
    };
  }
  // Rounds up to the next global one, included. The rank handles events in each or in none.
  int stretch(bool handles = true) {
    for (int rounds = 1;; ++rounds) {
      events += handles ? 1 : 0;
      communicator.coming_in_round = {{0, {event_at(1)}, false}, {2, {event_at(1)}, false}};
      if (step({.events = events}).global) {
        return rounds;
      }
      ensure(rounds < 1000, "no global round comes");
    }
  }
  std::function<std::int64_t(std::int64_t)> others_busy = [](std::int64_t own) { return 3 * own; };
  std::int64_t all_wall_us = 0;
  std::int64_t stops_agreed = 0;
  std::int64_t checkpoints_agreed = 0;
  std::int64_t events = 0;
  std::vector<std::int64_t> busy, wall_us, stops, checkpoints;
};

TEST(NullMessageSteps, MeetLessOftenWhileAllAreBusy) {
  Rounds rounds;
  std::vector<int> stretches;
  for (int i = 0; i < 8; ++i) {
    stretches.push_back(rounds.stretch());
  }
  EXPECT_THAT(stretches, ElementsAre(1, 2, 4, 8, 16, 32, 64, 64));
  EXPECT_THAT(rounds.busy, ElementsAre(1, 2, 4, 8, 16, 32, 64, 64));
  EXPECT_EQ(rounds.policy->counts().rounds, 191U);
  EXPECT_EQ(rounds.policy->counts().waits, 191U);
  EXPECT_EQ(rounds.policy->counts().batches, 2U * (191 - 8)) << "two neighbours in local rounds";
  EXPECT_EQ(rounds.communicator.rounds_ended, 191 - 8);
  EXPECT_EQ(rounds.stretch(false), 64);
  EXPECT_EQ(rounds.busy.back(), 0);
  EXPECT_EQ(rounds.stretch(), 1) << "most were idle";
}

TEST(NullMessageSteps, KeepTheStretchWhileHalfOfThemAreBusy) {
  Rounds rounds;
  EXPECT_EQ(rounds.stretch(), 1);
  EXPECT_EQ(rounds.stretch(), 2);
  rounds.others_busy = [](std::int64_t) { return 6; };
  EXPECT_EQ(rounds.stretch(), 4) << "6 of 12 busy rounds";
  EXPECT_EQ(rounds.stretch(), 4) << "neither longer nor one";
  rounds.others_busy = [](std::int64_t) { return 7; };
  EXPECT_EQ(rounds.stretch(), 4) << "7 of 12";
  rounds.others_busy = [](std::int64_t) { return 11; };
  EXPECT_EQ(rounds.stretch(), 8) << "11 of 24";
  EXPECT_EQ(rounds.stretch(), 1);
}

TEST(NullMessageSteps, MeetEveryFiftyMilliseconds) {
  Rounds rounds;
  while (rounds.stretch() < 64) {
  }
  const auto next_after = [&](std::int64_t mean_us) {
    rounds.all_wall_us = 3 * mean_us;
    rounds.stretch();
    return rounds.stretch();
  };
  EXPECT_EQ(next_after(50'000), 64) << "as it should be";
  rounds.all_wall_us = 0;
  EXPECT_EQ(next_after(50'001), 63) << "a little less, rounded down";
  rounds.all_wall_us = 3 * 24'999;
  EXPECT_EQ(rounds.stretch(), 62);
  EXPECT_EQ(rounds.stretch(), 64) << "doubled, to the longest";
  rounds.all_wall_us = 3'000'000'000;
  rounds.stretch();
  EXPECT_EQ(rounds.stretch(), 1) << "at least one";
}

TEST(NullMessageSteps, DoNotGrowPastHalfTheTime) {
  Rounds rounds;
  rounds.stretch();
  rounds.all_wall_us = 3 * 25'000;
  EXPECT_EQ(rounds.stretch(), 2);
  EXPECT_EQ(rounds.stretch(), 2);
  rounds.all_wall_us = 3 * 24'999;
  EXPECT_EQ(rounds.stretch(), 2);
  EXPECT_EQ(rounds.stretch(), 4);
}

TEST(NullMessageSteps, MeasureTheTimeSinceTheLastGlobalRound) {
  Rounds rounds;
  rounds.stretch();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rounds.stretch();
  EXPECT_GE(rounds.wall_us[1], 20'000);
  in_time(std::chrono::milliseconds(15), [&] {
    rounds.stretch();
    const std::size_t last = rounds.wall_us.size();
    rounds.stretch();
    EXPECT_LT(rounds.wall_us[last], 15'000);
  });
}

TEST(NullMessageSteps, KeepRequestsUntilAllHaveHeardOfThem) {
  Rounds rounds;
  rounds.stretch();
  rounds.stretch();
  rounds.communicator.coming_in_round = {{0, {event_at(1)}, false}, {2, {event_at(1)}, false}};
  EXPECT_FALSE(rounds.step({1, 0, 1000, 0}).global);
  rounds.communicator.coming_in_round = {{0, {event_at(1)}, false}, {2, {event_at(1)}, false}};
  EXPECT_FALSE(rounds.step({0, 2, 1000, 0}).global);
  rounds.communicator.coming_in_round = {{0, {event_at(1)}, false}, {2, {event_at(1)}, false}};
  EXPECT_FALSE(rounds.step({0, 1, 1000, 0}).global);
  EXPECT_TRUE(rounds.step({0, 0, 1000, 0}).global);
  EXPECT_THAT(rounds.stops, ElementsAre(0, 0, 1));
  EXPECT_THAT(rounds.checkpoints, ElementsAre(0, 0, 2));
  rounds.events = 1000;
  rounds.stretch();
  EXPECT_EQ(rounds.stops.back(), 0);
  EXPECT_EQ(rounds.checkpoints.back(), 0);
}

TEST(NullMessageSteps, MeetAtOnceWhereThereIsARequest) {
  for (const bool stop : {true, false}) {
    Rounds rounds;
    rounds.stretch();
    rounds.stretch();
    (stop ? rounds.stops_agreed : rounds.checkpoints_agreed) = 1;
    EXPECT_EQ(rounds.stretch(), 4);
    EXPECT_EQ(rounds.stretch(), 1);
  }
}

// A promise is the last record of a batch: the next event, or what the rank may hear of, and the
// delay; it never goes back.
TEST(NullMessageSteps, PromiseWhatTheLinksAllow) {
  Rounds rounds;
  rounds.site.next_at = ps(1000);
  rounds.stretch();  // all have an event at 0: the bound is 1 ns of its own and 5 ns, or 2 ns
  rounds.communicator.posted_in_round.clear();
  rounds.site.next_at = ps(10'000);
  rounds.site.send(0, ps(15'000));
  rounds.communicator.coming_in_round = {{0, {event_at(12'500), event_at(13'000)}, false},
                                         {2, {event_at(14'000)}, false}};
  const RoundResult result = rounds.step({.events = 50});
  EXPECT_FALSE(result.global);
  EXPECT_EQ(result.bound, ps(13'000));
  ASSERT_EQ(rounds.site.arrived.size(), 1U);
  EXPECT_EQ(rounds.site.arrived[0].time, ps(12'500));
  const std::vector<Batch>& posted = rounds.communicator.posted_in_round;
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_EQ(posted[0].rank, 0);
  ASSERT_EQ(posted[0].events.size(), 2U);
  EXPECT_EQ(posted[0].events[0].time, ps(15'000));
  EXPECT_EQ(posted[0].events[1].time, ps(4500)) << "2 ns that may come in, and 2.5 ns to there";
  EXPECT_EQ(posted[1].rank, 2);
  ASSERT_EQ(posted[1].events.size(), 1U);
  EXPECT_TRUE(posted[1].events[0].time.is_never()) << "no link leads there";
  EXPECT_TRUE(rounds.site.outboxes()[0].events.empty());
  EXPECT_EQ(rounds.communicator.asked_for.back(), 2);
}

}  // namespace
}  // namespace tessera::pdes::window_steps_test
