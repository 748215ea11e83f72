// Replicas that come and go.
#include "serving/replica_scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::executor::replica_scaling_test {
namespace {

constexpr SimTime s(std::int64_t count) {
  return SimTime::from_ps(count * 1'000'000'000'000);
}

using Counts = std::vector<std::uint64_t>;

// A letter for each replica: 1 takes requests, s starts or stops, 0 is off.
std::string states(const ReplicaScaling& scaling, std::uint32_t replicas) {
  std::string text;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    text += scaling.takes(replica) ? '1' : scaling.is_on(replica) ? 's' : '0';
  }
  return text;
}

TEST(ReplicaScaling, StartsAsManyAsRequestsNeed) {
  ReplicaScaling scaling({1, 10, s(5), s(20)}, 4);
  EXPECT_EQ(states(scaling, 4), "1000");
  scaling.change(s(1), Counts{10, 0, 0, 0});
  EXPECT_EQ(states(scaling, 4), "1000");
  scaling.change(s(2), Counts{21, 0, 0, 0});  // 2.1, rounded up
  EXPECT_EQ(states(scaling, 4), "1ss0");
  scaling.change(s(3), Counts{900, 0, 0, 0});
  EXPECT_EQ(states(scaling, 4), "1sss");
  scaling.advance(s(7));
  EXPECT_EQ(states(scaling, 4), "111s");
  scaling.advance(s(8));
  EXPECT_EQ(states(scaling, 4), "1111");
  EXPECT_EQ(scaling.off_time(1, s(100)), s(2));
  EXPECT_EQ(scaling.off_time(3, s(100)), s(3));
}

TEST(ReplicaScaling, StopsWhatWasNotNeededForAWhile) {
  ReplicaScaling scaling({1, 10, s(0), s(20)}, 4);
  scaling.change(s(0), Counts{40, 0, 0, 0});
  EXPECT_EQ(states(scaling, 4), "1111");
  scaling.change(s(10), Counts{1, 1, 0, 1});   // one would do
  scaling.change(s(15), Counts{10, 5, 0, 1});  // two
  scaling.change(s(18), Counts{1, 1, 0, 1});
  scaling.advance(s(29));
  EXPECT_EQ(states(scaling, 4), "1111");
  // The most that was wanted since 10 s stays; the last one has a request to serve.
  scaling.advance(s(30));
  EXPECT_EQ(states(scaling, 4), "110s");
  scaling.change(s(40), Counts{1, 1, 0, 0});
  EXPECT_EQ(states(scaling, 4), "1100");
  EXPECT_EQ(scaling.off_time(2, s(41)), s(11));
  EXPECT_EQ(scaling.off_time(3, s(41)), s(1));
  // One has been enough since 30 s, and 20 s more.
  scaling.advance(s(60));
  EXPECT_EQ(states(scaling, 4), "1s00");
  const std::vector<ReplicaScaling::Change> changes = scaling.take_changes();
  ASSERT_EQ(changes.size(), 5U);  // three came, two went
  EXPECT_EQ(changes[3].at, s(30));
  EXPECT_EQ(changes[3].replica, 2U);
  EXPECT_FALSE(changes[3].on);
  EXPECT_EQ(changes[4].at, s(40));
  EXPECT_TRUE(scaling.take_changes().empty());
}

TEST(ReplicaScaling, KeepsThoseThatWereToStop) {
  ReplicaScaling scaling({1, 10, s(5), s(0)}, 2);
  scaling.change(s(0), Counts{11, 0});
  scaling.advance(s(5));
  EXPECT_EQ(states(scaling, 2), "11");
  scaling.change(s(6), Counts{1, 1});
  scaling.advance(s(6));
  EXPECT_EQ(states(scaling, 2), "1s");
  scaling.change(s(7), Counts{10, 1});  // without a start
  EXPECT_EQ(states(scaling, 2), "11");
  EXPECT_EQ(scaling.off_time(1, s(7)), s(0));
}

// However often and when it is asked in between, it is the same.
TEST(ReplicaScaling, DoesNotDependOnWhenItIsAsked) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const Scaling settings{
        1 + static_cast<std::uint32_t>(random() % 2), 1 + static_cast<std::uint32_t>(random() % 5),
        s(static_cast<std::int64_t>(random() % 7)), s(static_cast<std::int64_t>(random() % 9))};
    ReplicaScaling one(settings, 4);
    ReplicaScaling other(settings, 4);
    std::int64_t now = 0;
    for (int change = 0; change < 60; ++change) {
      Counts counts;
      for (std::uint32_t replica = 0; replica < 4; ++replica) {
        // Who is off has no requests.
        counts.push_back(one.is_on(replica) ? random() % 6 : 0);
      }
      one.change(s(now), counts);
      other.change(s(now), counts);
      const std::int64_t next = now + static_cast<std::int64_t>(random() % 12);
      for (; now < next; ++now) {
        other.advance(s(now));
      }
      one.advance(s(now));
      other.advance(s(now));
      ASSERT_EQ(states(one, 4), states(other, 4)) << trial;
      const std::string now_on = states(one, 4);
      ASSERT_GE(4 - std::count(now_on.begin(), now_on.end(), '0'), settings.least);
      ASSERT_TRUE(one.takes(0));
      for (std::uint32_t replica = 0; replica < 4; ++replica) {
        ASSERT_EQ(one.off_time(replica, s(now)), other.off_time(replica, s(now)));
      }
    }
    pdes::StateWriter writer;
    one.save(writer);
    ReplicaScaling restored(settings, 4);
    pdes::StateReader reader(writer.bytes());
    restored.restore(reader);
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(states(restored, 4), states(one, 4));
  }
}

}  // namespace
}  // namespace tessera::executor::replica_scaling_test
