#include "tessera/explore/expression/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tessera/core/error.hpp"

namespace tessera::explore::expression_test {
namespace {

using ::testing::HasSubstr;
using Values = std::map<std::string, Scalar>;

Scalar value_of(const std::string& text, const Values& known = {}) {
  const Expression expression(text, {"sweep.yaml", 3, 5});
  std::vector<Scalar> values;
  for (const Expression::Name& name : expression.names()) {
    values.push_back(known.at(name.text));
  }
  return expression.evaluate(values);
}

Rational number(const std::string& text, const Values& known = {}) {
  return std::get<Rational>(value_of(text, known));
}

bool condition(const std::string& text, const Values& known = {}) {
  return std::get<bool>(value_of(text, known));
}

// "line:column: message" of the complaint; "" for none.
std::string complaint_of(const std::string& text, const Values& known = {}) {
  try {
    value_of(text, known);
  } catch (const ConfigError& error) {
    const Diagnostic& first = error.diagnostics().front();
    EXPECT_EQ(first.file, "sweep.yaml");
    return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message;
  }
  return "";
}

TEST(Expression, BindsAsInArithmetic) {
  EXPECT_EQ(number("2 + 3 * 4"), Rational(14));
  EXPECT_EQ(number("(2 + 3) * 4"), Rational(20));
  EXPECT_EQ(number("10 - 4 - 3"), Rational(3));
  EXPECT_EQ(number("48 / 4 / 2"), Rational(6));
  EXPECT_EQ(number("-2 * -3"), Rational(6));
  EXPECT_EQ(number("2 - -1"), Rational(3));
  EXPECT_EQ(number("7 % 4 * 2"), Rational(6));
}

TEST(Expression, DividesExactly) {
  EXPECT_EQ(number("1 / 3 * 3"), Rational(1));
  EXPECT_TRUE(condition("10 / 4 == 2.5"));
  EXPECT_TRUE(condition("0.1 + 0.2 == 0.3"));
  EXPECT_EQ(number("-7 % 4"), Rational(1));
  EXPECT_EQ(number("7 % -4"), Rational(-1));
}

TEST(Expression, ConditionsBindLooserThanComparisons) {
  EXPECT_TRUE(condition("1 < 2 and 2 < 3"));
  EXPECT_TRUE(condition("1 > 2 or 2 >= 2"));
  EXPECT_TRUE(condition("true or false and false"));
  EXPECT_TRUE(condition("not 1 == 2"));
  EXPECT_FALSE(condition("not (1 == 1 or 1 == 2)"));
  EXPECT_TRUE(condition("not not true"));
  EXPECT_TRUE(condition("1 != 2 and 1 <= 1"));
}

TEST(Expression, StopsAsSoonAsItIsDecided) {
  EXPECT_FALSE(condition("0 > 0 and 1 / 0 == 1"));
  EXPECT_TRUE(condition("0 == 0 or 1 % 0 == 1"));
}

TEST(Expression, TakesMinimaAndMaxima) {
  EXPECT_EQ(number("min(4, 2 + 1, 9)"), Rational(3));
  EXPECT_EQ(number("max(4) - max(1, 2)"), Rational(2));
}

TEST(Expression, LooksNamesUp) {
  const Values degrees{{"tensor", Rational(8)},
                       {"strategy.pipeline", Rational(20)},
                       {"data", Rational(2)},
                       {"schedule", std::string("1f1b")}};
  EXPECT_TRUE(condition("tensor * strategy.pipeline * data == 320", degrees));
  EXPECT_TRUE(condition("schedule == '1f1b' and schedule != \"gpipe\"", degrees));
  const Expression expression("a + b * a", {});
  ASSERT_EQ(expression.names().size(), 2U);
  EXPECT_EQ(expression.names()[1].text, "b");
  EXPECT_EQ(expression.names()[1].offset, 4U);
}

TEST(Expression, ReadsScalarsAsTheConfigurationDoes) {
  config::Value value;
  value.kind = config::Value::Kind::scalar;
  value.text = "8";
  EXPECT_EQ(scalar_from(value), Scalar(Rational(8)));
  value.quoted = true;
  EXPECT_EQ(scalar_from(value), Scalar(std::string("8")));
  value.quoted = false;
  value.text = "true";
  EXPECT_EQ(scalar_from(value), Scalar(true));
  value.text = "64 GB/s";
  EXPECT_EQ(scalar_from(value), Scalar(std::string("64 GB/s")));
}

struct Fault {
  const char* text;
  const char* place;  // column 5 is that of the first character
  const char* words;
};

class FaultyExpression : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultyExpression, IsRefusedAtItsPlace) {
  const Values known{{"a", Rational(1)}, {"word", std::string("x")}, {"yes", true}};
  const std::string complaint = complaint_of(GetParam().text, known);
  EXPECT_THAT(complaint, ::testing::StartsWith(GetParam().place)) << GetParam().text;
  EXPECT_THAT(complaint, HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyExpression,
    ::testing::Values(
        Fault{"", "3:5:", "expected a number, a name or a bracket, found the end"},
        Fault{"1 +", "3:8:", "found the end"}, Fault{"1 + * 2", "3:9:", "found '*'"},
        Fault{"(1 + 2", "3:11:", "expected ')'"}, Fault{"1 + 2)", "3:10:", "found ')'"},
        Fault{"a = 1", "3:7:", "write == to compare"}, Fault{"a & yes", "3:7:", "write and"},
        Fault{"1 < a < 3", "3:11:", "do not chain"}, Fault{"a b", "3:7:", "expected an operator"},
        Fault{"1f1b == word", "3:5:", "a text stands in quotes"},
        Fault{"word == 'x", "3:13:", "not closed"}, Fault{"sum(1, 2)", "3:5:", "unknown function"},
        Fault{"min()", "3:9:", "found ')'"}, Fault{"and 1", "3:5:", "found 'and'"},
        Fault{"a..b", "3:5:", "no name of a key"}, Fault{"a / 0", "3:7:", "divides by zero"},
        Fault{"a % 0", "3:7:", "divides by zero"}, Fault{"0.5 % 1", "3:9:", "whole numbers"},
        Fault{"word + 1", "3:10:", "takes numbers, not the text 'x'"},
        Fault{"yes * 2", "3:9:", "takes numbers, not a condition"},
        Fault{"a and yes", "3:7:", "takes conditions, not a number"},
        Fault{"a == word", "3:7:", "compares a number with the text 'x'"},
        Fault{"4000000000 * 4000000000", "3:16:", "leaves 64 bits"}));

TEST(Expression, MustBeAConditionToHold) {
  const Expression expression("1 + 1", {"sweep.yaml", 1, 1});
  EXPECT_THROW(expression.holds({}), ConfigError);
}

TEST(Expression, RefusesEndlessTexts) {
  EXPECT_THAT(complaint_of(std::string(65, '(') + "1" + std::string(65, ')')),
              HasSubstr("more than 64 levels"));
  EXPECT_EQ(number(std::string(60, '(') + "1" + std::string(60, ')')), Rational(1));
  EXPECT_THAT(complaint_of("1" + std::string(5000, ' ')), HasSubstr("longer than 4096 bytes"));
  std::string sum = "1";
  while (sum.size() < 4000) {
    sum += "+1";
  }
  EXPECT_EQ(number(sum), Rational(static_cast<std::int64_t>(sum.size() / 2 + 1)));
}

}  // namespace
}  // namespace tessera::explore::expression_test
