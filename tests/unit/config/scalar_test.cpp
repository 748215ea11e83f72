#include <gtest/gtest.h>

#include <limits>

#include "reading.hpp"

namespace tessera::config::scalar_test {
namespace {

template <Readable T>
std::optional<T> good(const std::string& text) {
  std::string problem;
  const std::optional<T> value = parse_as<T>(text, problem);
  EXPECT_EQ(value.has_value(), problem.empty()) << text << ": " << problem;
  return value;
}

template <Readable T>
std::string problem_with(const std::string& text) {
  std::string problem;
  EXPECT_EQ(parse_as<T>(text, problem), std::nullopt) << text;
  return problem;
}

TEST(WholeNumber, IsDecimalAndExact) {
  EXPECT_EQ(good<std::int64_t>("010"), 10);  // not octal
  EXPECT_EQ(good<std::int64_t>("-7"), -7);
  EXPECT_EQ(good<std::int64_t>("+7"), 7);
  EXPECT_EQ(good<std::int64_t>("0"), 0);
  EXPECT_EQ(good<std::int64_t>("-0"), 0);
  EXPECT_EQ(good<std::int64_t>("1_000_000"), 1'000'000);
  EXPECT_EQ(good<std::int64_t>("1e6"), 1'000'000);
  EXPECT_EQ(good<std::int64_t>("2.5e3"), 2'500);
  EXPECT_EQ(good<std::int64_t>("1200e-2"), 12);
  EXPECT_EQ(good<std::int64_t>("0e999999999"), 0);
  EXPECT_EQ(good<std::int64_t>("9007199254740993"), 9007199254740993);  // not a double
  EXPECT_EQ(good<std::int64_t>("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(good<std::int64_t>("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(good<std::int64_t>("1" + std::string(50, '0') + "e-50"), 1);
}

TEST(WholeNumber, RefusesEverythingElse) {
  for (const char* text :
       {"",   "abc", "0x10", "0o17", "1.5", "2.5e0", "1e-1", "4 ",    " 4",  "1__0",
        "_1", "1_",  "--1",  "+",    ".",   "1e",    "1e+",  "4 KiB", "inf", "true"}) {
    EXPECT_EQ(problem_with<std::int64_t>(text),
              "expected a whole number; got '" + std::string(text) + "'");
  }
  EXPECT_EQ(problem_with<std::int64_t>("9223372036854775808"),
            "'9223372036854775808' is too large; the most is 9223372036854775807");
  EXPECT_EQ(problem_with<std::int64_t>("-9223372036854775809"),
            "'-9223372036854775809' is too small; the least is -9223372036854775808");
  EXPECT_EQ(problem_with<std::int64_t>("1e999999999999999"),
            "'1e999999999999999' is too large; the most is 9223372036854775807");
}

TEST(WholeNumber, LongNumbersAreCutInTheMessage) {
  const std::string number(200, '9');
  EXPECT_EQ(problem_with<std::int64_t>(number),
            "'" + std::string(60, '9') + "…' is too large; the most is 9223372036854775807");
}

TEST(Bool, IsTrueOrFalseOnly) {
  EXPECT_EQ(good<bool>("true"), true);
  EXPECT_EQ(good<bool>("false"), false);
  for (const char* text : {"yes", "no", "on", "True", "TRUE", "1", "0", ""}) {
    EXPECT_EQ(problem_with<bool>(text), "expected true or false; got '" + std::string(text) + "'");
  }
}

TEST(Double, ReadsAsFromChars) {
  EXPECT_EQ(good<double>("0.1"), 0.1);
  EXPECT_EQ(good<double>("-1e-3"), -0.001);
  EXPECT_EQ(good<double>("+2"), 2.0);
  EXPECT_EQ(good<double>("1_000.5"), 1000.5);
  EXPECT_EQ(good<double>(".5"), 0.5);
  EXPECT_EQ(good<double>("5."), 5.0);
  for (const char* text : {"inf", "nan", "-inf", ".inf", "0x1p3", "1,5", "abc", ""}) {
    EXPECT_EQ(problem_with<double>(text), "expected a number; got '" + std::string(text) + "'");
  }
  EXPECT_EQ(problem_with<double>("1e400"),
            "'1e400' is out of the range of a 64-bit floating-point number");
}

TEST(Text, IsAnyScalar) {
  EXPECT_EQ(good<std::string>("010"), "010");
  Reading reading("a: yes\nb: 'x y'\nc: 1e3\nd: ''\n");
  EXPECT_EQ(reading.root.get<std::string>("a"), "yes");
  EXPECT_EQ(reading.root.get<std::string>("b"), "x y");
  EXPECT_EQ(reading.root.get<std::string>("c"), "1e3");
  EXPECT_EQ(reading.root.get<std::string>("d"), "");
  EXPECT_EQ(reading.lines(), Lines{});
}

TEST(QuotedText, IsNeverANumber) {
  EXPECT_EQ(
      complaints_of_a<std::int64_t>("a: '12'"),
      (Lines{"m.yaml:1:4: error: a: expected a whole number without quotes; got '12' in quotes"}));
  EXPECT_EQ(
      complaints_of_a<bool>("a: \"true\""),
      (Lines{"m.yaml:1:4: error: a: expected true or false without quotes; got 'true' in quotes"}));
  EXPECT_EQ(complaints_of_a<double>("a: '1'").size(), 1U);
  EXPECT_EQ(complaints_of_a<Fraction>("a: '1'").size(), 1U);
  EXPECT_EQ(complaints_of_a<Bytes>("a: '4 KiB'"), Lines{});
}

}  // namespace
}  // namespace tessera::config::scalar_test
