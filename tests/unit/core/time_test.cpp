#include "tessera/core/time.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::time_test {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

TEST(SimTime, AddsSubtractsAndMultiplies) {
  EXPECT_EQ(ps(2) + ps(3), ps(5));
  EXPECT_EQ(ps(2) - ps(3), ps(-1));
  EXPECT_EQ(ps(7) * 3, ps(21));
  SimTime time = ps(10);
  time += ps(5);
  EXPECT_EQ(time, ps(15));
  time -= ps(15);
  EXPECT_EQ(time, SimTime::zero());
  EXPECT_EQ(SimTime(), SimTime::zero());
  EXPECT_LT(ps(1), ps(2));
}

TEST(SimTime, NeverIsLaterThanEverythingAndAbsorbs) {
  EXPECT_TRUE(SimTime::never().is_never());
  EXPECT_FALSE(ps(highest - 1).is_never());
  EXPECT_GT(SimTime::never(), ps(highest - 1));
  EXPECT_EQ(SimTime::never() + ps(1), SimTime::never());
  EXPECT_EQ(ps(1) + SimTime::never(), SimTime::never());
  EXPECT_EQ(SimTime::never() + SimTime::never(), SimTime::never());
  EXPECT_EQ(SimTime::never() - ps(1), SimTime::never());
  EXPECT_EQ(SimTime::never() * 3, SimTime::never());
}

TEST(SimTime, OverflowIsAnErrorAndNeverAWrap) {
  EXPECT_EQ(ps(highest - 2) + ps(1), ps(highest - 1));
  EXPECT_THROW(ps(highest - 1) + ps(2), ModelError);
  EXPECT_THROW(ps(highest / 2 + 1) * 2, ModelError);
  EXPECT_THROW(ps(3'037'000'500) * 3'037'000'500, ModelError);
}

TEST(SimTime, ASumThatHappensToEqualNeverIsAnOverflow) {
  EXPECT_THROW(ps(highest - 1) + ps(1), ModelError);
  EXPECT_THROW(ps(highest / 7) * 7, ModelError) << "2^63 - 1 is a multiple of 7";
}

TEST(SimTime, ArithmeticIsUsableAtCompileTime) {
  static_assert(SimTime::from_ps(2) + SimTime::from_ps(3) == SimTime::from_ps(5));
  static_assert((SimTime::never() + SimTime::from_ps(3)).is_never());
  EXPECT_DOUBLE_EQ(ps(1'500'000'000'000).seconds(), 1.5);
}

TEST(SimTime, TextUsesTheLargestUnitAtOrAboveOne) {
  EXPECT_EQ(to_string(SimTime::zero()), "0 ps");
  EXPECT_EQ(to_string(ps(1)), "1 ps");
  EXPECT_EQ(to_string(ps(999)), "999 ps");
  EXPECT_EQ(to_string(ps(1'000)), "1 ns");
  EXPECT_EQ(to_string(ps(1'050)), "1.05 ns");
  EXPECT_EQ(to_string(ps(999'999)), "999.999 ns");
  EXPECT_EQ(to_string(ps(1'234'567)), "1.234567 us");
  EXPECT_EQ(to_string(ps(1'234'567'000)), "1.234567 ms");
  EXPECT_EQ(to_string(ps(100'000'000'000'000)), "100 s");
  EXPECT_EQ(to_string(SimTime::never()), "never");
  EXPECT_EQ(to_string(ps(-1'500)), "-1.5 ns");
}

TEST(SimTime, TextNeverShowsAThousandOfAUnit) {
  EXPECT_EQ(to_string(ps(1'234'567'499)), "1.234567 ms");
  EXPECT_EQ(to_string(ps(1'234'567'500)), "1.234568 ms");
  EXPECT_EQ(to_string(ps(999'999'999'600)), "1 s") << "not 1000 ms";
  EXPECT_EQ(to_string(ps(999'999'500'000)), "999.9995 ms");
}

TEST(SimTime, TextOfTheEndsOfTheRange) {
  EXPECT_EQ(to_string(ps(highest - 1)), "9223372.036855 s");
  EXPECT_EQ(to_string(ps(std::numeric_limits<std::int64_t>::min())), "-9223372.036855 s");
}

}  // namespace
}  // namespace tessera::time_test
