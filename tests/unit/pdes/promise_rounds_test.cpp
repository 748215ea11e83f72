// When a rank with the promise policy calls all to a global round, what it brings there and what it
// takes from it; and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "promise_script.hpp"

namespace tessera::pdes::promise_rounds_test {
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
constexpr std::chrono::milliseconds silence(150);
constexpr std::chrono::milliseconds report(80);

// The ranks that a round was called at, and nothing else was sent to.
std::vector<int> called(PromiseScript& script) {
  std::vector<int> ranks;
  for (const Batch& batch : script.posted()) {
    if (batch.events.back().flags == calls) {
      EXPECT_TRUE(batch.wakes);
      EXPECT_EQ(batch.events.size(), 1U);
      ranks.push_back(batch.rank);
    }
  }
  return ranks;
}

// Rank 1 of two, in a round that the other calls.
TEST(PromiseRounds, TakeInWhatIsUnderWayAndReduce) {
  PromiseScript pair(1, 2);
  pair.site.next_at = ps(5000);
  pair.site.outlooks[0] = {ps(20'000), ps(3000), ps(7000)};
  pair.site.send(0, ps(30'000));
  pair.hear_mark(0, calls, 1);
  pair.communicator.on_await = [&] {
    pair.hear(0, {.at = ps(40'000), .posted = 1, .events = {ps(39'000)}});
  };
  std::vector<std::size_t> lengths;
  pair.communicator.on_reduce = [&](std::span<comm::MinSum> values) {
    lengths.push_back(values.size());
    if (values.size() == 2) {
      EXPECT_EQ(values[0].count, 2) << "the call, and the events";
      EXPECT_EQ(values[1].count, 0);
      values[1].count = 3;  // one came before
      return;
    }
    values[0].earliest = ps(4000);
    values[1].earliest = ps(7500);
    for (std::size_t i = 2; i < values.size(); ++i) {
      values[i].count += 100;
    }
  };
  const RoundResult result = pair.step({1, 2, 3, 4});
  EXPECT_THAT(lengths, ElementsAre(2, 6));
  EXPECT_EQ(pair.communicator.awaited, 2);
  ASSERT_EQ(pair.site.arrived.size(), 2U);
  const std::vector<comm::MinSum>& brought = pair.communicator.brought[1];
  EXPECT_EQ(brought[0].earliest, ps(5000));
  EXPECT_EQ(brought[1].earliest, ps(8000));
  for (std::size_t i = 2; i < 6; ++i) {
    EXPECT_EQ(brought[i].count, static_cast<std::int64_t>(i) - 1);
    EXPECT_TRUE(brought[i].earliest.is_never());
  }
  EXPECT_TRUE(pair.site.wanted.back().is_never());
  const std::vector<Batch> posted = pair.posted();
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_EQ(posted[0].events.back().flags, calls);
  EXPECT_EQ(posted[0].events.back().sequence, 1U);
  EXPECT_TRUE(posted[1].wakes);
  const auto told = pair.read(posted[1]);
  EXPECT_EQ(told.events, 1U);
  EXPECT_EQ(told.wanted, SimTime::zero());
  EXPECT_TRUE(result.global);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.bound, ps(7500));
  EXPECT_EQ(result.global_next, ps(4000));
  EXPECT_EQ(result.sums.stop_requests, 101);
  EXPECT_EQ(result.sums.checkpoint_requests, 102);
  EXPECT_EQ(result.sums.events, 103);
  EXPECT_EQ(result.sums.work_done, 104);
  EXPECT_EQ(pair.policy->counts().rounds, 1U);
  EXPECT_EQ(pair.policy->counts().batches, 2U);
  EXPECT_EQ(pair.policy->counts().waits, 0U);
}

// A round that was met is not met again, and what it found holds for what is said next.
TEST(PromiseRounds, BoundWhatComesAfterThem) {
  in_time(silence, [] {
    PromiseScript pair(1, 2);
    pair.site.next_at = ps(5000);
    pair.site.outlooks[0] = {ps(6000), ps(3000), ps(7000)};
    pair.hear_mark(0, calls, 1);
    pair.communicator.on_reduce = [](std::span<comm::MinSum> values) {
      values[1].count = values.size() == 2 ? 1 : 0;
      values[1].earliest = ps(8500);
    };
    EXPECT_EQ(pair.step().bound, ps(8500));
    pair.posted();
    pair.hear_mark(0, calls, 1);
    EXPECT_FALSE(pair.step().global);
    pair.site.next_at = ps(8000);
    pair.step();
    EXPECT_EQ(pair.policy->counts().waits, 1U);
    EXPECT_EQ(pair.read(pair.last_posted()).towards.at, ps(8500)) << "no less than was found";
    pair.hear(0, {.at = ps(8000), .posted = 1, .events = {ps(8499)}});
    EXPECT_THROW(pair.step(), InternalError);
  });
}

TEST(PromiseRounds, AreCalledForRequests) {
  for (const RoundSums sums : {RoundSums{1, 0, 0, 0}, RoundSums{0, 1, 0, 0}}) {
    PromiseScript middle(1, 3);
    middle.communicator.on_reduce = [](std::span<comm::MinSum> values) {
      values[1].count = values.size() == 3 ? 0 : values[1].count;
    };
    EXPECT_TRUE(middle.step(sums).global);
    EXPECT_THAT(called(middle), ElementsAre(0, 2));
    EXPECT_EQ(middle.communicator.awaited, 0);
  }
}

// Who has no link to the rank beside it calls that, too; nobody is beside the first and the last.
TEST(PromiseRounds, AreCalledAtAllWhoAreBeside) {
  constexpr std::uint32_t ranks = Statements::most_known + 2;
  const auto called_by = [](std::uint32_t self, std::uint32_t distance) {
    PromiseScript one(self, ranks, ring_of(ranks, distance));
    one.communicator.on_reduce = [=](std::span<comm::MinSum> values) {
      values[self < values.size() ? self : 0].count = 0;
    };
    RoundSums stop;
    stop.stop_requests = 1;
    EXPECT_TRUE(one.step(stop).global);
    return called(one);
  };
  EXPECT_THAT(called_by(5, 1), ElementsAre(4, 6));
  EXPECT_THAT(called_by(5, 2), ElementsAre(3, 7, 6, 4));
  EXPECT_THAT(called_by(0, 2), ElementsAre(2, 32, 1));
  EXPECT_THAT(called_by(33, 2), ElementsAre(1, 31, 32));
}

// Where ranks know neighbours only, all of which wait, and what they say brings no one further.
TEST(PromiseRounds, EndCreeping) {
  in_time(silence, [] {
    constexpr std::uint32_t ranks = Statements::most_known + 2;
    const auto first_call = [](bool both_wait) {
      PromiseScript one(5, ranks, ring_of(ranks, 1));
      one.site.next_at = ps(5000);
      one.communicator.on_reduce = [&](std::span<comm::MinSum> values) {
        values[5].count = values.size() == ranks ? 0 : values[5].count;
      };
      one.hear(4, {.wanted = ps(1'000'000)});
      one.hear(6, {.at = SimTime::zero(), .wanted = both_wait ? ps(1'000'000) : ps(0)});
      EXPECT_FALSE(one.step().global);
      for (int batches = 1; batches < 20; ++batches) {
        one.hear(6, {.at = ps(batches), .wanted = both_wait ? ps(1'000'000) : ps(0)});
        if (one.step().global) {
          return batches;
        }
      }
      return 0;
    };
    EXPECT_EQ(first_call(true), 10) << "three for each rank that is known, this one included";
    EXPECT_EQ(first_call(false), 0);
  });
}

// What a rank has found out of its neighbours stands for theirs.
TEST(PromiseRounds, TellOfNeighboursWhereRanksDoNotKnowAll) {
  in_time(silence, [] {
    constexpr std::uint32_t ranks = Statements::most_known + 2;
    PromiseScript one(5, ranks, ring_of(ranks, 1));
    one.site.next_at = ps(5000);
    one.hear(4, {});
    one.hear(6, {.at = ps(5999)});
    one.step();
    for (const Batch& batch : one.posted()) {
      EXPECT_EQ(one.read(batch).towards.bound, SimTime::zero()) << "said before it was found out";
    }
    one.step();
    const std::vector<Batch> posted = one.posted();
    ASSERT_EQ(posted.size(), 2U);
    EXPECT_TRUE(one.read(posted[0]).towards.bound.is_never());
    EXPECT_EQ(one.read(posted[1]).towards.bound, ps(5999));
  });
}

TEST(PromiseRounds, DoNotEndWaitingWhereAllIsKnown) {
  in_time(silence, [] {
    PromiseScript pair(1, 2);
    pair.site.next_at = ps(5000);
    for (int batches = 1; batches < 20; ++batches) {
      pair.hear(0, {.at = ps(batches), .wanted = ps(1'000'000)});
      EXPECT_FALSE(pair.step().global);
    }
    EXPECT_EQ(pair.policy->counts().waits, 1U);
  });
}

// By the first rank, while it works; others do not.
TEST(PromiseRounds, TellOfProgress) {
  PromiseScript first(0, 2);
  PromiseScript last(1, 2);
  for (PromiseScript* script : {&first, &last}) {
    script->site.next_at = ps(5000);
    script->communicator.on_reduce = [](std::span<comm::MinSum> values) {
      if (values.size() == 2) {
        values[0].count = 1;
      }
    };
  }
  in_time(report, [] {
    PromiseScript fresh(0, 2);
    fresh.site.next_at = ps(5000);
    fresh.hear(1, {});
    EXPECT_FALSE(fresh.step().global);
    EXPECT_FALSE(fresh.step().global);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(101));
  first.hear(1, {});
  last.hear(0, {});
  EXPECT_TRUE(first.step().global);
  EXPECT_FALSE(last.step().global);
}

// Of a rank that has waited for long, since it began to wait.
TEST(PromiseRounds, EndLongSilence) {
  in_time(std::chrono::milliseconds(400), [] {
    PromiseScript pair(1, 2);
    pair.site.next_at = ps(5000);
    pair.communicator.on_reduce = [](std::span<comm::MinSum> values) {
      values[1].count = values.size() == 2 ? 2 : 0;
    };
    EXPECT_FALSE(pair.step().global);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    pair.hear(0, {.at = ps(8000)});
    EXPECT_FALSE(pair.step().global) << "it works";
    pair.site.next_at = ps(8000);
    EXPECT_FALSE(pair.step().global);
    EXPECT_EQ(pair.policy->counts().waits, 2U);
    std::this_thread::sleep_for(std::chrono::milliseconds(101));
    pair.hear(0, {.at = ps(8000)});
    EXPECT_FALSE(pair.step().global) << "211 ms since the first wait, not the second";
    std::this_thread::sleep_for(std::chrono::milliseconds(101));
    EXPECT_TRUE(pair.step().global);
  });
}

std::string refused(PromiseScript& script) {
  try {
    script.step();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "nothing";
}

// An event for 23 ns may follow from one that comes in at 20 ns, an earlier one may not.
TEST(PromiseRounds, RefuseEventsBeforeWhatWasPromised) {
  in_time(silence, [] {
    const auto sent_at = [](std::int64_t at, std::int64_t in) {
      PromiseScript pair(1, 2);
      pair.site.next_at = ps(5000);
      pair.site.outlooks[0] = {ps(90'000), never, ps(3000)};
      pair.hear(0, {.at = ps(10'000)});
      pair.step();
      pair.hear(0, {.at = ps(50'000), .posted = 1, .events = {ps(in), ps(in + 100)}});
      EXPECT_EQ(refused(pair), "nothing");
      pair.site.send(0, ps(at));
      return refused(pair);
    };
    EXPECT_EQ(sent_at(23'000, 20'000), "nothing");
    EXPECT_THAT(sent_at(22'999, 20'000),
                AllOf(HasSubstr("entity 7 (rank 1) sends to entity 9 (rank 0)"),
                      HasSubstr("22.999 ns"), HasSubstr("before 23 ns")));
    EXPECT_EQ(sent_at(90'000, 89'000), "nothing");
    EXPECT_THAT(sent_at(89'999, 89'000), HasSubstr("before 90 ns"));
  });
}

// Each that is sent, whatever went before.
TEST(PromiseRounds, RefuseTheFirstEventOfABatch) {
  in_time(silence, [] {
    PromiseScript pair(1, 2);
    pair.site.next_at = ps(5000);
    pair.site.outlooks[0] = {ps(90'000), never, never};
    pair.hear(0, {.at = ps(10'000)});
    pair.site.send(0, ps(90'000));
    EXPECT_EQ(refused(pair), "nothing");
    EXPECT_EQ(pair.read(pair.last_posted()).events, 1U);
    pair.site.send(0, ps(89'999));
    EXPECT_THAT(refused(pair), HasSubstr("before 90 ns"));
  });
}

TEST(PromiseRounds, RefuseEventsThatWereSaidNotToCome) {
  in_time(silence, [] {
    PromiseScript pair(1, 2);
    pair.site.next_at = ps(5000);
    pair.site.outlooks[0] = {never, never, never};
    pair.hear(0, {.at = ps(50'000)});
    EXPECT_EQ(pair.step().bound, ps(50'000));
    pair.hear(0, {.at = ps(60'000), .posted = 1, .events = {ps(50'000)}});
    EXPECT_EQ(refused(pair), "nothing");
    pair.hear(0, {.at = ps(60'000), .posted = 2, .events = {ps(50'000), ps(49'999)}});
    EXPECT_THAT(refused(pair), AllOf(HasSubstr("(rank 0) sends to entity"), HasSubstr("(rank 1)"),
                                     HasSubstr("49.999 ns"), HasSubstr("before 50 ns")));
  });
}

}  // namespace
}  // namespace tessera::pdes::promise_rounds_test
