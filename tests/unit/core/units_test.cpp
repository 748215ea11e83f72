#include "tessera/core/units.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "tessera/core/error.hpp"

namespace tessera::units_test {
namespace {

constexpr std::uint64_t giga = 1'000'000'000;
constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

SimTime ps(std::int64_t count) {
  return SimTime::from_ps(count);
}

TEST(Units, SerializationTimeIsExactWhereItDivides) {
  EXPECT_EQ(serialization_time(Bytes(0), Bandwidth::bytes_per_second(1)), SimTime::zero());
  EXPECT_EQ(serialization_time(Bytes(256), Bandwidth::bytes_per_second(256 * giga)), ps(1000));
  EXPECT_EQ(serialization_time(Bytes(1), Bandwidth::bytes_per_second(1)), ps(1'000'000'000'000));
}

TEST(Units, SerializationTimeRoundsUpOnce) {
  EXPECT_EQ(serialization_time(Bytes(1), Bandwidth::bytes_per_second(3 * giga)), ps(334));
  EXPECT_EQ(serialization_time(Bytes(2), Bandwidth::bytes_per_second(3 * giga)), ps(667));
  EXPECT_EQ(serialization_time(Bytes(3), Bandwidth::bytes_per_second(3 * giga)), ps(1000));
  EXPECT_EQ(serialization_time(Bytes(1), Bandwidth::bytes_per_second(highest)), ps(1));
}

TEST(Units, DurationsUseWideIntermediates) {
  // 10^18 B * 10^12 is far beyond 64 bits, the quotient is not.
  EXPECT_EQ(serialization_time(Bytes(giga * giga), Bandwidth::bytes_per_second(giga * giga)),
            ps(1'000'000'000'000));
  EXPECT_EQ(serialization_time(Bytes(giga * giga + 1), Bandwidth::bytes_per_second(giga * giga)),
            ps(1'000'000'000'001));
  EXPECT_EQ(rounded_up_duration(highest, highest / 4, highest), ps((1LL << 62) - 1));
}

TEST(Units, ExecutionTimeRoundsUp) {
  EXPECT_EQ(execution_time(Flops(1), FlopRate::flops_per_second(312'000 * giga)), ps(1));
  EXPECT_EQ(execution_time(Flops(313), FlopRate::flops_per_second(312'000 * giga)), ps(2));
  EXPECT_EQ(execution_time(Flops(312), FlopRate::flops_per_second(312'000 * giga)), ps(1));
}

TEST(Units, DurationsReportOverflowAndZeroRates) {
  EXPECT_THROW(serialization_time(Bytes(highest), Bandwidth::bytes_per_second(1)), ModelError);
  EXPECT_THROW(serialization_time(Bytes(1), Bandwidth()), InternalError);
  // 2^63 - 2 is the longest duration; 2^63 - 1 means never.
  EXPECT_EQ(rounded_up_duration((1ULL << 63) - 2, 1, 1), ps((1LL << 62) - 1 + (1LL << 62) - 1));
  EXPECT_THROW(rounded_up_duration((1ULL << 63) - 1, 1, 1), ModelError);
}

TEST(Units, BytesInASpanRoundDown) {
  EXPECT_EQ(bytes_in(ps(1000), Bandwidth::bytes_per_second(256 * giga)), Bytes(256));
  EXPECT_EQ(bytes_in(ps(999), Bandwidth::bytes_per_second(256 * giga)), Bytes(255));
  EXPECT_EQ(bytes_in(ps(-1), Bandwidth::bytes_per_second(giga)), Bytes(0));
  EXPECT_THROW(bytes_in(SimTime::never(), Bandwidth::bytes_per_second(highest)), ModelError);
}

TEST(Units, BytesInTheSerializationTimeAreNeverFewer) {
  for (const std::uint64_t rate : std::array<std::uint64_t, 4>{1, 3, 7 * giga, 312 * giga + 1}) {
    for (const std::uint64_t size : std::array<std::uint64_t, 4>{1, 2, 1023, 65'537}) {
      const Bandwidth bandwidth = Bandwidth::bytes_per_second(rate);
      EXPECT_GE(bytes_in(serialization_time(Bytes(size), bandwidth), bandwidth), Bytes(size));
    }
  }
}

TEST(Units, ScalingRoundsDown) {
  EXPECT_EQ(scaled(FlopRate::flops_per_second(1001), Fraction::millionths(500'000)),
            FlopRate::flops_per_second(500));
  EXPECT_EQ(scaled(Bandwidth::bytes_per_second(highest), Fraction()),
            Bandwidth::bytes_per_second(highest));
  EXPECT_THROW(scaled(Bandwidth::bytes_per_second(highest), Fraction::millionths(1'000'001)),
               ModelError);
}

TEST(Clock, StartOfCycleIsTheFloor) {
  const Clock clock = Clock::hertz(1'100'000'000);
  EXPECT_EQ(clock.time_of_cycle(0), SimTime::zero());
  EXPECT_EQ(clock.time_of_cycle(1), ps(909));
  EXPECT_EQ(clock.time_of_cycle(2), ps(1818));
  EXPECT_EQ(clock.time_of_cycle(10), ps(9090));
  EXPECT_EQ(clock.time_of_cycle(11), ps(10'000));
}

TEST(Clock, DoesNotDriftAtElevenTenthsOfAGigahertz) {
  const Clock clock = Clock::hertz(1'100'000'000);
  // 11 cycles are 10 ns exactly, so cycle 11 k starts at 10 k ns; a period of 909 ps would be
  // 91 ms early after 10^12 cycles.
  constexpr std::uint64_t cycles = 1'000'000'000'000;
  EXPECT_EQ(clock.time_of_cycle(cycles), ps(909'090'909'090'909));
  EXPECT_EQ(clock.time_of_cycle(cycles + 10), ps(909'090'909'100'000));
  for (std::uint64_t n = cycles; n < cycles + 1000; ++n) {
    const std::int64_t period = (clock.time_of_cycle(n + 1) - clock.time_of_cycle(n)).ps();
    EXPECT_TRUE(period == 909 || period == 910) << n;
  }
}

TEST(Clock, ReportsOverflowAndAMissingFrequency) {
  EXPECT_THROW(Clock::hertz(1).time_of_cycle(10'000'000), ModelError);
  EXPECT_THROW(Clock().time_of_cycle(1), InternalError);
}

TEST(UnitText, BytesAreBinaryWhenExactAndDecimalElse) {
  EXPECT_EQ(to_string(Bytes(0)), "0 B");
  EXPECT_EQ(to_string(Bytes(999)), "999 B");
  EXPECT_EQ(to_string(Bytes(1000)), "1 kB");
  EXPECT_EQ(to_string(Bytes(1024)), "1 KiB");
  EXPECT_EQ(to_string(Bytes(48 * 1024)), "48 KiB");
  EXPECT_EQ(to_string(Bytes(1536)), "1.536 kB");
  EXPECT_EQ(to_string(Bytes(40ULL << 30)), "40 GiB");
  EXPECT_EQ(to_string(Bytes(3ULL << 50)), "3072 TiB");
  EXPECT_EQ(to_string(Bytes(1'500'000'000)), "1.5 GB");
}

TEST(UnitText, RatesAndCountsUseDecimalPrefixes) {
  EXPECT_EQ(to_string(Bandwidth::bytes_per_second(256 * giga)), "256 GB/s");
  EXPECT_EQ(to_string(Bandwidth()), "0 B/s");
  EXPECT_EQ(to_string(Flops(1'500)), "1.5 kFLOP");
  EXPECT_EQ(to_string(FlopRate::flops_per_second(1'500 * giga)), "1.5 TFLOP/s");
  EXPECT_EQ(to_string(FlopRate::flops_per_second(2 * giga * giga)), "2 EFLOP/s");
  EXPECT_EQ(to_string(Clock::hertz(1'100'000'000)), "1.1 GHz");
  EXPECT_EQ(to_string(Clock::hertz(50)), "50 Hz");
}

TEST(UnitText, IsExactBeyondThePrecisionOfADouble) {
  EXPECT_EQ(to_string(Flops(9'007'199'254'740'993)), "9.007199254740993 PFLOP");
  EXPECT_EQ(to_string(Flops(highest)), "18.446744073709551615 EFLOP");
  EXPECT_EQ(to_string(Flops(1'000'000'000'000'000'001)), "1.000000000000000001 EFLOP");
}

TEST(UnitText, Fractions) {
  EXPECT_EQ(to_string(Fraction::millionths(850'000)), "0.85");
  EXPECT_EQ(to_string(Fraction()), "1");
  EXPECT_EQ(to_string(Fraction::millionths(0)), "0");
  EXPECT_DOUBLE_EQ(Fraction::millionths(1).value(), 1e-6);
}

}  // namespace
}  // namespace tessera::units_test
