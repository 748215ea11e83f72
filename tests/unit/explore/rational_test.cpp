#include "tessera/explore/expression/rational.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tessera::explore::rational_test {
namespace {

Rational of(std::string_view text) {
  return Rational::parse(text).value();
}

TEST(Rational, ReadsDecimalsExactly) {
  EXPECT_EQ(of("12"), Rational(12));
  EXPECT_EQ(of("-3"), Rational(-3));
  EXPECT_EQ(of("1_000_000"), Rational(1'000'000));
  EXPECT_EQ(of("0.25"), Rational::make(1, 4));
  EXPECT_EQ(of("2.50"), Rational::make(5, 2));
  EXPECT_EQ(of("1e6"), Rational(1'000'000));
  EXPECT_EQ(of("1.5e-3"), Rational::make(3, 2000));
  EXPECT_EQ(of("9223372036854775807"), Rational(std::numeric_limits<std::int64_t>::max()));
}

TEST(Rational, RefusesWhatIsNoNumberOf64Bits) {
  for (const char* text :
       {"", "-", ".", ".5", "1.2.3", "0x10", "12 GB", "1e", "1e400", "1f1b", "_1", "1_",
        "9223372036854775808", "99999999999999999999999999999999999999999",
        "0.00000000000000000000000000000000000000000000001", "+1", "nan"}) {
    EXPECT_FALSE(Rational::parse(text)) << text;
  }
}

TEST(Rational, TenTenthsAreOne) {
  Rational sum;
  for (int i = 0; i < 10; ++i) {
    sum = add(sum, of("0.1")).value();
  }
  EXPECT_EQ(sum, Rational(1));
}

TEST(Rational, ComputesInLowestTerms) {
  EXPECT_EQ(add(*Rational::make(1, 6), *Rational::make(1, 3)), Rational::make(1, 2));
  EXPECT_EQ(subtract(Rational(1), *Rational::make(4, 3)), Rational::make(-1, 3));
  EXPECT_EQ(multiply(*Rational::make(2, 3), *Rational::make(9, 4)), Rational::make(3, 2));
  EXPECT_EQ(divide(Rational(1), Rational(-3)), Rational::make(-1, 3));
  EXPECT_EQ(Rational::make(-4, -8), Rational::make(1, 2));
}

TEST(Rational, SaysWhenItLeaves64Bits) {
  const Rational most(std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(add(most, Rational(1)));
  EXPECT_FALSE(subtract(Rational(-2), most));
  EXPECT_FALSE(multiply(most, most));
  EXPECT_FALSE(divide(Rational(1), Rational(0)));
  EXPECT_TRUE(multiply(most, *Rational::make(1, 3)));
}

TEST(Rational, ComparesWithoutRounding) {
  // As doubles these two are equal.
  EXPECT_TRUE(Rational(9'007'199'254'740'992) < Rational(9'007'199'254'740'993));
  EXPECT_TRUE(*Rational::make(1, 3) < *Rational::make(334, 1000));
  EXPECT_FALSE(*Rational::make(-1, 3) < *Rational::make(-1, 2));
}

TEST(Rational, WritesDecimalsWhereTheyEnd) {
  EXPECT_EQ(Rational(-12).to_string(), "-12");
  EXPECT_EQ(of("0.25").to_string(), "0.25");
  EXPECT_EQ(of("-0.05").to_string(), "-0.05");
  EXPECT_EQ(of("12.8").to_string(), "12.8");
  EXPECT_EQ(Rational::make(1, 3)->to_string(), "1/3");
}

}  // namespace
}  // namespace tessera::explore::rational_test
