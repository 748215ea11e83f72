// What follows from what ranks have said of themselves.

#include "statements.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::pdes::statements_test {
namespace {

SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

// Of a circle in which each rank sends to the next one.
RegionDelays circle(std::size_t ranks) {
  RegionDelays delays;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    delays.direct.push_back({rank, static_cast<std::uint32_t>((rank + 1) % ranks), ps(1)});
  }
  return delays;
}

// Says of this rank that nothing of its own reaches the next one before `at`, nor sooner than
// `through` after what comes in.
void say(Statements& statements, std::size_t ranks, SimTime at, SimTime through) {
  const std::size_t next = (statements.rank_of(0) + 1) % ranks;
  for (Towards& towards : statements.own().towards) {
    towards.at = SimTime::never();
    towards.through = SimTime::never();
  }
  Towards& towards = statements.own().towards[statements.neighbour_of(0, next)];
  towards.at = at;
  towards.through = through;
  statements.own_changed();
}

// All of `from`, and what it knows of others.
void tell(Statements& from, Statements& to) {
  std::vector<Event> batch;
  from.append_to(batch, from.place_of(to.rank_of(0)));
  EXPECT_TRUE(to.take_from(batch, to.place_of(from.rank_of(0))).empty());
}

struct Circle {
  explicit Circle(std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      of.emplace_back(ranks, rank, circle(ranks));
    }
  }
  std::vector<Statements> of;
};

TEST(Statements, FindTheShortestWayAroundACircle) {
  Circle circle(4);
  const std::vector<SimTime> own{ps(1000), ps(5000), ps(7000), ps(9000)};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    say(circle.of[rank], 4, own[rank], ps(10));
  }
  // What rank 1 says comes to rank 3 by rank 2.
  for (std::size_t rank = 0; rank < 3; ++rank) {
    tell(circle.of[rank], circle.of[rank + 1]);
  }
  Statements& last = circle.of[3];
  last.solve();
  EXPECT_EQ(last.earliest_input(last.place_of(1)), ps(1000));
  EXPECT_EQ(last.earliest_input(last.place_of(2)), ps(1010));
  EXPECT_EQ(last.earliest_input(0), ps(1020));
  EXPECT_EQ(last.earliest_from(last.place_of(2)), ps(1020));
  EXPECT_TRUE(last.earliest_from(last.place_of(1)).is_never());
  EXPECT_EQ(last.earliest_input(last.place_of(0)), ps(1030));
}

TEST(Statements, OfRanksThatSaidNothingBoundNothing) {
  Circle circle(3);
  say(circle.of[0], 3, ps(1000), ps(10));
  circle.of[0].solve();
  EXPECT_EQ(circle.of[0].earliest_input(0), SimTime::zero());
}

TEST(Statements, CountWhatIsUnderWayUntilItsReceiverKnowsOfIt) {
  Circle circle(2);
  say(circle.of[0], 2, ps(9000), ps(10));
  say(circle.of[1], 2, ps(9000), ps(10));
  tell(circle.of[1], circle.of[0]);
  Towards& to_one = circle.of[0].own().towards.front();
  to_one.sent = ps(500);
  to_one.posted = 1;
  circle.of[0].own_changed();
  circle.of[0].solve();
  EXPECT_EQ(circle.of[0].earliest_input(0), ps(510)) << "what rank 1 makes of it";
  circle.of[1].own().towards.front().received = 1;
  circle.of[1].own_changed();
  tell(circle.of[1], circle.of[0]);
  circle.of[0].solve();
  EXPECT_EQ(circle.of[0].earliest_input(0), ps(9000));
}

TEST(Statements, AreSentOnce) {
  Circle circle(2);
  say(circle.of[0], 2, ps(1), ps(1));
  EXPECT_TRUE(circle.of[0].has_news_for(1));
  std::vector<Event> batch(3);
  circle.of[0].append_to(batch, 1);
  EXPECT_FALSE(circle.of[0].has_news_for(1));
  EXPECT_EQ(circle.of[1].take_from(batch, 1).size(), 3U);
  EXPECT_EQ(circle.of[1].of(1).version, circle.of[0].own().version);
  std::vector<Event> nothing;
  circle.of[0].append_to(nothing, 1);
  EXPECT_EQ(nothing.size(), 1U);
}

TEST(Statements, SayNothingAtFirst) {
  const Circle circle(3);
  for (std::size_t place = 0; place < 3; ++place) {
    const Statement& said = circle.of[0].of(place);
    EXPECT_EQ(said.version, 0U);
    EXPECT_FALSE(said.waits());
    ASSERT_EQ(said.towards.size(), 2U);
    EXPECT_EQ(said.towards[0], (Towards{ps(0), ps(0), SimTime::never(), ps(0), 0, 0}));
    EXPECT_FALSE(circle.of[0].has_news_for(place));
  }
}

// Also of the one that hears last of all.
TEST(Statements, FindWhenEachSendsAtTheEarliest) {
  RegionDelays delays;
  for (const std::uint32_t from : {0U, 1U, 2U}) {
    for (const std::uint32_t to : {0U, 1U, 2U}) {
      if (from != to) {
        delays.direct.push_back({from, to, ps(1)});
      }
    }
  }
  std::vector<Statements> of;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    of.emplace_back(3, rank, delays);
    for (Towards& towards : of.back().own().towards) {
      towards.at = towards.through = SimTime::never();
    }
  }
  of[0].own().towards[0].at = ps(8000);
  of[0].own().towards[1].at = ps(7000);
  of[1].own().towards[0].through = ps(500);
  of[2].own().towards[0].at = ps(1000);
  for (Statements& one : of) {
    one.own_changed();
  }
  tell(of[1], of[0]);
  tell(of[2], of[0]);
  of[0].solve();
  EXPECT_EQ(of[0].earliest_input(0), ps(1000));
  EXPECT_EQ(of[0].earliest_from(2), ps(1000));
  EXPECT_EQ(of[0].earliest_input(1), ps(8000));
  EXPECT_EQ(of[0].earliest_from(1), ps(8500));
}

// Nor to those who told of it.
TEST(Statements, AreNotSentToWhoKnowsThem) {
  Circle circle(3);
  say(circle.of[2], 3, ps(1), ps(1));
  tell(circle.of[2], circle.of[1]);
  tell(circle.of[1], circle.of[0]);
  EXPECT_EQ(circle.of[0].of(circle.of[0].place_of(2)).version, 1U);
  const auto records_for = [&](std::size_t rank) {
    std::vector<Event> batch;
    circle.of[0].append_to(batch, circle.of[0].place_of(rank));
    EXPECT_EQ(batch.back().tag, (batch.size() - 1) / 3);
    return batch.size();
  };
  EXPECT_EQ(records_for(1), 1U) << "it told of it";
  EXPECT_EQ(records_for(2), 1U) << "its own";
  say(circle.of[0], 3, ps(2), ps(2));
  EXPECT_EQ(records_for(1), 4U) << "two neighbours, the rank, and the end";
  EXPECT_EQ(records_for(1), 1U);
}

// What is older than what is known changes nothing.
TEST(Statements, AreReadInAnyOrder) {
  Circle circle(2);
  std::vector<std::vector<Event>> batches(2);
  for (std::int64_t number = 0; number < 2; ++number) {
    say(circle.of[0], 2, ps(100 + number), ps(10 + number));
    Towards& towards = circle.of[0].own().towards.front();
    towards.sent = ps(20 + number);
    towards.bound = ps(30 + number);
    towards.posted = static_cast<std::uint32_t>(40 + number);
    towards.received = static_cast<std::uint32_t>(50 + number);
    circle.of[0].own().wanted = ps(60 + number);
    circle.of[0].append_to(batches[static_cast<std::size_t>(number)], 1);
  }
  for (const std::size_t number : {1, 0}) {
    circle.of[1].take_from(batches[number], 1);
    const Statement& said = circle.of[1].of(1);
    EXPECT_EQ(said.version, 2U);
    EXPECT_EQ(said.wanted, ps(61));
    EXPECT_EQ(said.towards.front(), (Towards{ps(101), ps(11), ps(21), ps(31), 41, 51}));
  }
}

// The earliest of what is under way, unless all of it is known there.
TEST(Statements, CompareCountsAcrossTheWrap) {
  Circle circle(2);
  say(circle.of[0], 2, ps(9000), ps(10));
  say(circle.of[1], 2, ps(9000), ps(10));
  circle.of[1].own().towards.front().received = 0xFFFFFFFFU;
  tell(circle.of[1], circle.of[0]);
  Towards& to_one = circle.of[0].own().towards.front();
  to_one.sent = ps(500);
  for (const auto& [posted, input] :
       {std::pair(1U, ps(510)), std::pair(0U, ps(510)), std::pair(0xFFFFFFFFU, ps(9000)),
        std::pair(0xFFFFFFFEU, ps(9000))}) {
    to_one.posted = posted;
    circle.of[0].solve();
    EXPECT_EQ(circle.of[0].earliest_input(0), input) << posted;
  }
}

// Up to so many ranks all know of all.
TEST(Statements, OfFewRanksAreKnownOfAll) {
  Circle circle(Statements::most_known);
  EXPECT_TRUE(circle.of[3].complete());
  EXPECT_EQ(circle.of[3].known(), Statements::most_known);
  EXPECT_EQ(circle.of[3].rank_of(0), 3U);
  EXPECT_EQ(circle.of[3].place_of(0), 1U);
  EXPECT_EQ(circle.of[3].place_of(2), 3U);
  EXPECT_EQ(circle.of[3].place_of(4), 4U);
  EXPECT_EQ(circle.of[3].neighbour_of(0, 2), 0U);
  EXPECT_EQ(circle.of[3].neighbour_of(0, 4), 1U);
  EXPECT_EQ(circle.of[3].neighbour_of(0, 5), Statements::none);
  EXPECT_EQ(circle.of[3].neighbour_of(0, 1), Statements::none);
}

TEST(Statements, OfManyRanksAreKnownOfNeighboursOnly) {
  constexpr std::size_t ranks = Statements::most_known + 1;
  Circle circle(ranks);
  Statements& first = circle.of[0];
  EXPECT_FALSE(first.complete());
  EXPECT_EQ(first.known(), 3U);
  EXPECT_EQ(first.place_of(2), Statements::none);
  Statements& before = circle.of[ranks - 1];
  say(before, ranks, ps(1000), ps(10));
  // It has found out that nothing comes to it before.
  before.own().towards[before.neighbour_of(0, ranks - 2)].bound = ps(600);
  tell(before, first);
  say(circle.of[1], ranks, ps(2000), ps(10));
  tell(circle.of[1], first);
  say(first, ranks, ps(3000), ps(10));
  first.solve();
  EXPECT_EQ(first.earliest_input(0), ps(610));
}

}  // namespace
}  // namespace tessera::pdes::statements_test
