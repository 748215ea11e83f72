// Operations beside collectives in the background.
#include "fixed_times.hpp"

#include <gtest/gtest.h>

namespace tessera::compute::fixed_times_test {
namespace {

constexpr SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

// Of 100 ps alone and 160 ps beside a collective.
TEST(FixedTimes, GoOnAloneWhenTheCollectiveIsOver) {
  const auto time = [](std::int64_t left) { return time_beside(ps(left), ps(160), ps(100)); };
  EXPECT_EQ(time(0), ps(100));
  EXPECT_EQ(time(80), ps(80 + 50)) << "half of it is left";
  EXPECT_EQ(time(159), ps(159 + 1)) << "rounded up";
  EXPECT_EQ(time(160), ps(160));
  EXPECT_EQ(time_beside(SimTime::never(), ps(160), ps(100)), ps(160));
}

TEST(FixedTimes, NothingSlowsWhatIsAsFastBeside) {
  EXPECT_EQ(time_beside(ps(30), ps(100), ps(100)), ps(100));
}

// Days, in picoseconds.
TEST(FixedTimes, HaveRoomForLongOperations) {
  const std::int64_t day = 86'400'000'000'000'000;
  EXPECT_EQ(time_beside(ps(day), ps(4 * day), ps(2 * day)), ps(day + 3 * day / 2));
}

}  // namespace
}  // namespace tessera::compute::fixed_times_test
