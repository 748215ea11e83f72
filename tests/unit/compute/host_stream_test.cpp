// Hosts beside devices: when an operation may begin.
#include "host_stream.hpp"

#include <gtest/gtest.h>

namespace tessera::compute::host_stream_test {
namespace {

constexpr SimTime us(std::int64_t count) {
  return SimTime::from_ps(count * 1'000'000);
}
constexpr Issue ahead{0, false};
constexpr Issue waiting{0, true};

TEST(HostStream, IsNoStreamWithoutAnIssueTime) {
  HostStream host({}, 2);
  EXPECT_EQ(host.begin(1, us(7), {5, true}), us(7));
}

// Operations of 3 us each: with an issue time of 10 us the host decides, n * 10 us + 3 us in all.
TEST(HostStream, DecidesWhereTheDeviceIsFaster) {
  HostStream host({us(10), {}}, 1);
  SimTime now;
  for (int operation = 1; operation <= 5; ++operation) {
    const SimTime begin = host.begin(0, now, ahead);
    EXPECT_EQ(begin, us(10 * operation));
    now = begin + us(3);
  }
}

// Operations of 30 us: the first waits for the host, and then the device decides; sums would be 40.
// Three passes of two operations: 10 us to issue each, and 100 us before the first of a pass.
TEST(HostStream, TakesTimeForEachPass) {
  HostStream host({us(10), us(100)}, 1);
  constexpr Issue first{0, false, true};
  for (int pass = 1; pass <= 3; ++pass) {
    EXPECT_EQ(host.begin(0, {}, first), us(120 * pass - 10));
    EXPECT_EQ(host.begin(0, {}, ahead), us(120 * pass));
  }
  HostStream alone({{}, us(100)}, 1);
  EXPECT_EQ(alone.begin(0, us(30), first), us(100));
  EXPECT_EQ(alone.begin(0, us(130), ahead), us(130));
}

TEST(HostStream, IsHiddenWhereTheDeviceIsSlower) {
  HostStream host({us(10), {}}, 1);
  SimTime now;
  for (int operation = 1; operation <= 5; ++operation) {
    const SimTime begin = host.begin(0, now, ahead);
    EXPECT_EQ(begin, operation == 1 ? us(10) : now);
    now = begin + us(30);
  }
}

// What it gained while the device was at long operations short ones use up.
TEST(HostStream, KeepsItsLeadOverShortOperations) {
  HostStream host({us(10), {}}, 1);
  EXPECT_EQ(host.begin(0, us(0), ahead), us(10));
  EXPECT_EQ(host.begin(0, us(45), ahead), us(45)) << "issued at 20 us";
  EXPECT_EQ(host.begin(0, us(46), ahead), us(46)) << "issued at 30 us";
  EXPECT_EQ(host.begin(0, us(47), ahead), us(47)) << "issued at 40 us";
  EXPECT_EQ(host.begin(0, us(48), ahead), us(50));
}

TEST(HostStream, LosesItsLeadWhereItWaits) {
  HostStream host({us(10), {}}, 1);
  EXPECT_EQ(host.begin(0, us(0), waiting), us(10));
  EXPECT_EQ(host.begin(0, us(100), waiting), us(110));
  EXPECT_EQ(host.begin(0, us(115), ahead), us(120));
  EXPECT_EQ(host.begin(0, us(121), {2, false}), us(150)) << "two collectives and the operation";
}

TEST(HostStream, IsOneANode) {
  HostStream host({us(10), {}}, 2);
  EXPECT_EQ(host.begin(0, us(0), ahead), us(10));
  EXPECT_EQ(host.begin(1, us(0), ahead), us(10));
  EXPECT_EQ(host.begin(0, us(0), ahead), us(20));
}

TEST(HostStream, GoesOnFromACheckpoint) {
  HostStream host({us(10), {}}, 2);
  host.begin(1, us(0), {4, false});
  pdes::StateWriter writer;
  host.save(1, writer);
  HostStream resumed({us(10), {}}, 2);
  pdes::StateReader reader(writer.bytes());
  resumed.restore(1, reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(resumed.begin(1, us(3), ahead), us(60));
  pdes::StateWriter nothing;
  HostStream({}, 2).save(1, nothing);
  EXPECT_EQ(nothing.size(), 0U) << "checkpoints without hosts stay as they were";
}

}  // namespace
}  // namespace tessera::compute::host_stream_test
