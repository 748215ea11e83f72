#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "reading.hpp"

namespace tessera::config::quantity_test {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

template <Readable T>
T good(const std::string& text) {
  std::string problem;
  const std::optional<T> value = parse_as<T>(text, problem);
  EXPECT_TRUE(value.has_value()) << text << ": " << problem;
  return value.value_or(T{});
}

template <Readable T>
std::string problem_with(const std::string& text) {
  std::string problem;
  EXPECT_FALSE(parse_as<T>(text, problem).has_value()) << text;
  return problem;
}

std::uint64_t bytes(const std::string& text) {
  return good<Bytes>(text).count();
}
std::uint64_t rate(const std::string& text) {
  return good<Bandwidth>(text).bytes_per_second();
}
std::int64_t ps(const std::string& text) {
  return good<SimTime>(text).ps();
}
std::uint64_t hertz(const std::string& text) {
  return good<Clock>(text).frequency_hz();
}
std::uint64_t flops(const std::string& text) {
  return good<FlopRate>(text).flops_per_second();
}
std::uint64_t millionths(const std::string& text) {
  return good<Fraction>(text).millionths();
}

TEST(BytesText, DecimalAndBinaryPrefixes) {
  EXPECT_EQ(bytes("0 B"), 0U);
  EXPECT_EQ(bytes("12 B"), 12U);
  EXPECT_EQ(bytes("1kB"), 1'000U);
  EXPECT_EQ(bytes("1 KB"), 1'000U);
  EXPECT_EQ(bytes("4 KiB"), 4'096U);
  EXPECT_EQ(bytes("1.5 KiB"), 1'536U);
  EXPECT_EQ(bytes("48GB"), 48'000'000'000U);
  EXPECT_EQ(bytes("1 GiB"), 1'073'741'824U);
  EXPECT_EQ(bytes("0.0009765625 MiB"), 1'024U);
  EXPECT_EQ(bytes("15 EiB"), 15ULL << 60);
  EXPECT_EQ(bytes("1EB"), 1'000'000'000'000'000'000U);  // a prefix, not an exponent
  EXPECT_EQ(bytes("1e3 B"), 1'000U);
  EXPECT_EQ(bytes("1E3 B"), 1'000U);
}

TEST(BytesText, TheWholeRangeIsExact) {
  EXPECT_EQ(bytes("18446744073709551615 B"), most);
  EXPECT_EQ(bytes("18.446744073709551615 EB"), most);
  EXPECT_EQ(bytes("9007199254740993 B"), 9'007'199'254'740'993U);
  EXPECT_EQ(problem_with<Bytes>("18446744073709551616 B"),
            "'18446744073709551616 B' is too large; the most is 18446744073709551615 B");
  EXPECT_EQ(problem_with<Bytes>("16 EiB"),
            "'16 EiB' is too large; the most is 18446744073709551615 B");
  EXPECT_EQ(problem_with<Bytes>("1e30 B"),
            "'1e30 B' is too large; the most is 18446744073709551615 B");
  EXPECT_EQ(problem_with<Bytes>("1e99999999999 B"),
            "'1e99999999999 B' is too large; the most is 18446744073709551615 B");
}

TEST(BytesText, Problems) {
  EXPECT_EQ(problem_with<Bytes>("12"), "'12' has no unit; write e.g. '12 KiB'");
  EXPECT_EQ(problem_with<Bytes>("1.5 B"),
            "'1.5 B' is not a whole number of B; the nearest below is 1 B");
  EXPECT_EQ(problem_with<Bytes>("0.3 KiB"),
            "'0.3 KiB' is not a whole number of B; the nearest below is 307 B");
  EXPECT_EQ(problem_with<Bytes>("1e-999999999 B"),
            "'1e-999999999 B' is not a whole number of B; the nearest below is 0 B");
  EXPECT_EQ(problem_with<Bytes>("-1 B"), "must not be negative; got '-1 B'");
  EXPECT_EQ(problem_with<Bytes>("4 kib"), "unknown unit 'kib'; did you mean 'KiB'?");
  EXPECT_EQ(problem_with<Bytes>("4 furlongs"),
            "unknown unit 'furlongs'; known: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
  EXPECT_EQ(problem_with<Bytes>("big"), "expected a size such as '4 KiB'; got 'big'");
  EXPECT_EQ(problem_with<Bytes>(""), "expected a size such as '4 KiB'; got ''");
  EXPECT_EQ(problem_with<Bytes>("0." + std::string(60, '3') + " B"),
            "'0." + std::string(58, '3') + "…' has more than 38 digits");
}

TEST(BandwidthText, BytesAndBitsPerSecond) {
  EXPECT_EQ(rate("256 GB/s"), 256'000'000'000U);
  EXPECT_EQ(rate("1 GiB/s"), 1'073'741'824U);
  EXPECT_EQ(rate("400 Gb/s"), 50'000'000'000U);
  EXPECT_EQ(rate("400 Gbit/s"), 50'000'000'000U);
  EXPECT_EQ(rate("8 b/s"), 1U);
  EXPECT_EQ(rate("1 Kib/s"), 128U);
  EXPECT_EQ(rate("1.6TB/s"), 1'600'000'000'000U);
  EXPECT_EQ(rate("123.456789 MB/s"), 123'456'789U);
}

TEST(BandwidthText, Problems) {
  EXPECT_EQ(problem_with<Bandwidth>("5 GBs"), "unknown unit 'GBs'; did you mean 'GB/s'?");
  EXPECT_EQ(problem_with<Bandwidth>("5 gb/s"),
            "unknown unit 'gb/s'; did you mean 'GB/s' or 'Gb/s'?");
  EXPECT_EQ(problem_with<Bandwidth>("5 GB"),
            "unknown unit 'GB'; known: B/s, kB/s, MB/s, GB/s, "
            "TB/s, GiB/s, and bits as Gb/s or Gbit/s");
  EXPECT_EQ(problem_with<Bandwidth>("5"), "'5' has no unit; write e.g. '5 GB/s'");
  EXPECT_EQ(problem_with<Bandwidth>("1 b/s"),
            "'1 b/s' is not a whole number of B/s; the nearest below is 0 B/s");
}

TEST(TimeText, PicosecondsExactly) {
  EXPECT_EQ(ps("0.3 ns"), 300);
  EXPECT_EQ(ps("0.9 ns"), 900);
  EXPECT_EQ(ps("10ns"), 10'000);
  EXPECT_EQ(ps("1.5 us"), 1'500'000);
  EXPECT_EQ(ps("1.5 \u00B5s"), 1'500'000);
  EXPECT_EQ(ps("1.5 \u03BCs"), 1'500'000);
  EXPECT_EQ(ps("2 ms"), 2'000'000'000);
  EXPECT_EQ(ps("0.000000000001 s"), 1);
  EXPECT_EQ(ps("1e-3 ns"), 1);
  EXPECT_EQ(ps("-0 ns"), 0);
  EXPECT_EQ(ps("9223372036854775806 ps"), std::numeric_limits<std::int64_t>::max() - 1);
}

TEST(TimeText, Problems) {
  EXPECT_EQ(problem_with<SimTime>("12"), "'12' has no unit; write e.g. '12 ns'");
  EXPECT_EQ(problem_with<SimTime>("0.1 ps"),
            "'0.1 ps' is not a whole number of ps; the nearest below is 0 ps");
  EXPECT_EQ(problem_with<SimTime>("1.2345 ns"),
            "'1.2345 ns' is not a whole number of ps; the nearest below is 1234 ps");
  // The largest count means `never`, which cannot be written.
  EXPECT_EQ(problem_with<SimTime>("9223372036854775807 ps"),
            "'9223372036854775807 ps' is too large; the most is 9223372036854775806 ps");
  EXPECT_EQ(problem_with<SimTime>("never"), "expected a time such as '10 ns'; got 'never'");
  EXPECT_EQ(problem_with<SimTime>("5 sec"), "unknown unit 'sec'; known: ps, ns, us, ms, s");
}

TEST(ClockText, Hertz) {
  EXPECT_EQ(hertz("1.1 GHz"), 1'100'000'000U);
  EXPECT_EQ(hertz("850MHz"), 850'000'000U);
  EXPECT_EQ(hertz("1 kHz"), 1'000U);
  EXPECT_EQ(hertz("7 Hz"), 7U);
  EXPECT_EQ(problem_with<Clock>("1.1 ghz"), "unknown unit 'ghz'; did you mean 'GHz'?");
  EXPECT_EQ(problem_with<Clock>("1.1"), "'1.1' has no unit; write e.g. '1.1 GHz'");
  EXPECT_EQ(problem_with<Clock>("0.5 Hz"),
            "'0.5 Hz' is not a whole number of Hz; the nearest below is 0 Hz");
}

TEST(FlopsText, FloatingPointAndIntegerNames) {
  EXPECT_EQ(good<Flops>("214.7 GFLOP"), Flops(214'700'000'000));
  EXPECT_EQ(good<Flops>("3 TOP"), Flops(3'000'000'000'000));
  EXPECT_EQ(problem_with<Flops>("3 GFLOP/s"), "unknown unit 'GFLOP/s'; did you mean 'GFLOP'?");
  EXPECT_EQ(problem_with<Flops>("3"), "'3' has no unit; write e.g. '3 GFLOP'");
}

TEST(FlopRateText, FloatingPointAndIntegerNames) {
  EXPECT_EQ(flops("16 TFLOP/s"), 16'000'000'000'000U);
  EXPECT_EQ(flops("1.5 PFLOP/s"), 1'500'000'000'000'000U);
  EXPECT_EQ(flops("312 TFLOPS"), 312'000'000'000'000U);
  EXPECT_EQ(flops("368 TOPS"), 368'000'000'000'000U);
  EXPECT_EQ(flops("4 GOPS"), 4'000'000'000U);
  EXPECT_EQ(flops("3 FLOP/s"), 3U);
  EXPECT_EQ(problem_with<FlopRate>("3 tflops"), "unknown unit 'tflops'; did you mean 'TFLOPS'?");
  EXPECT_EQ(problem_with<FlopRate>("3"), "'3' has no unit; write e.g. '3 TFLOP/s'");
}

TEST(FractionText, NumberOrPercent) {
  EXPECT_EQ(millionths("0.85"), 850'000U);
  EXPECT_EQ(millionths("85 %"), 850'000U);
  EXPECT_EQ(millionths("85%"), 850'000U);
  EXPECT_EQ(millionths("0"), 0U);
  EXPECT_EQ(millionths("1"), 1'000'000U);
  EXPECT_EQ(millionths("100 %"), 1'000'000U);
  EXPECT_EQ(millionths("0.000001"), 1U);
  EXPECT_EQ(millionths("1e-06"), 1U);
  EXPECT_EQ(millionths("12.3456 %"), 123'456U);
  EXPECT_EQ(problem_with<Fraction>("0.0000001"), "'0.0000001' has more than 6 decimals");
  EXPECT_EQ(problem_with<Fraction>("1.00001 %"),
            "'1.00001 %' has more than 6 decimals (4 of a percent)");
  for (const char* text : {"1.1", "-0.1", "101 %", "85", "1e30", "2.0000001"}) {
    EXPECT_EQ(problem_with<Fraction>(text),
              "must be between 0 and 1 (0 % and 100 %); got '" + std::string(text) + "'");
  }
  EXPECT_EQ(problem_with<Fraction>("half"),
            "expected a fraction such as '0.85' or '85 %'; got 'half'");
}

TEST(QuantityRange, IsSpokenOfInUnits) {
  EXPECT_EQ(complaints_of_a<Bytes>("a: 0 B", at_least(Bytes(1))),
            (Lines{"m.yaml:1:4: error: a: must be at least 1 B; got '0 B'"}));
  EXPECT_EQ(
      complaints_of_a<SimTime>("a: 2 us", between(SimTime::from_ps(1), SimTime::from_ps(1'000))),
      (Lines{"m.yaml:1:4: error: a: must be between 1 ps and 1 ns; got '2 us'"}));
  EXPECT_EQ(complaints_of_a<std::int64_t>("a: 9", {std::nullopt, 8}),
            (Lines{"m.yaml:1:4: error: a: must be at most 8; got '9'"}));
  EXPECT_EQ(complaints_of_a<std::int64_t>("a: 8", between<std::int64_t>(8, 8)), Lines{});
}

}  // namespace
}  // namespace tessera::config::quantity_test
