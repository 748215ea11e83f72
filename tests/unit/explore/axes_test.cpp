#include "tessera/explore/axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/error.hpp"

namespace tessera::explore::axes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Axes read(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("lab/sweep.yaml", text, diagnostics), "", diagnostics);
  Axes axes = Axes::read(section);
  section.finish();
  diagnostics.throw_if_any();
  return axes;
}

std::string complaint_of(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.diagnostics().front().to_string();
  }
  return "";
}

std::vector<std::string> values_of(const std::string& range) {
  const Axes axes = read("axes: {key: " + range + "}");
  std::vector<std::string> texts;
  for (const config::Value& value : axes.list().at(0).keys.at(0).values) {
    texts.push_back(value.text);
  }
  return texts;
}

TEST(Axes, ExpandsRangesWithBothEnds) {
  EXPECT_THAT(values_of("{from: 1, to: 16, factor: 2}"), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(values_of("{from: 2, to: 9, step: 3}"), ElementsAre("2", "5", "8"));
  EXPECT_THAT(values_of("{from: 0.1, to: 0.3, step: 0.1}"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(values_of("{from: 5, to: 5, step: 1}"), ElementsAre("5"));
  EXPECT_THAT(values_of("{from: 1, to: 3, factor: 1.5}"), ElementsAre("1", "1.5", "2.25"));
}

TEST(Axes, KeepsUnits) {
  EXPECT_THAT(values_of("{from: 64 GB/s, to: 256GB/s, factor: 2}"),
              ElementsAre("64 GB/s", "128 GB/s", "256 GB/s"));
  EXPECT_THAT(values_of("{from: 0.5 EB, to: 1 EB, step: 0.5 EB}"), ElementsAre("0.5 EB", "1 EB"));
}

TEST(Axes, NumbersPointsWithTheLastAxisFastest) {
  const Axes axes = read(
      "axes: {a: [1, 2], b: [x, 'y z', [3, 4]]}\n"
      "linked:\n  - {c: [5, 6], d: [{e: 7}, {e: 8, f: g}]}\n");
  EXPECT_EQ(axes.points(), 12U);
  EXPECT_THAT(axes.places(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(axes.places(1), ElementsAre(0, 0, 1));
  EXPECT_THAT(axes.places(11), ElementsAre(1, 2, 1));
  EXPECT_THAT(axes.overrides(axes.places(11)),
              ElementsAre("a=2", "b=[3, 4]", "c=6", "d={e: 8, f: g}"));
  EXPECT_THAT(axes.overrides(axes.places(2)), ElementsAre("a=1", "b='y z'", "c=5", "d={e: 7}"));
}

TEST(Axes, FindsPartsBesideTheSweep) {
  const Axes axes = read("axes: {machine: [../a.yaml, b.yaml], other: [../a.yaml]}");
  EXPECT_THAT(axes.overrides({0, 0}), ElementsAre("machine='a.yaml'", "other=../a.yaml"));
  EXPECT_THAT(axes.overrides({1, 0}), ElementsAre("machine='lab/b.yaml'", "other=../a.yaml"));
}

struct Fault {
  const char* text;
  const char* complaint;
};

class FaultyAxes : public ::testing::TestWithParam<Fault> {};

TEST_P(FaultyAxes, AreRefused) {
  EXPECT_THAT(complaint_of(GetParam().text), HasSubstr(GetParam().complaint)) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultyAxes,
    ::testing::Values(
        Fault{"{}", "axes: missing"},
        Fault{"axes: {a: []}", "1:8: error: axes.a: the list is empty"},
        Fault{"axes: {a: 5}", "axes.a: expected a list of values"},
        Fault{"axes: {a: {from: 1, to: 2}}", "axes.a.step: missing"},
        Fault{"axes: {a: {from: 1, to: 2, step: 1, factor: 2}}", "'step' or 'factor', not both"},
        Fault{"axes: {a: {from: 1, to: 2, step: 0}}", "axes.a.step: must be above 0"},
        Fault{"axes: {a: {from: 1, to: 2, factor: 1}}", "axes.a.factor: must be above 1"},
        Fault{"axes: {a: {from: 0, to: 2, factor: 2}}", "'from' above 0"},
        Fault{"axes: {a: {from: 3, to: 2, step: 1}}", "axes.a.to: is below 'from'"},
        Fault{"axes: {a: {from: 1 GB, to: 2 MB, step: 1 GB}}", "axes.a.to: has another unit"},
        Fault{"axes: {a: {from: 1 GB, to: 2 GB, factor: 2 GB}}", "a factor has no unit"},
        Fault{"axes: {a: {from: one, to: 2, step: 1}}", "axes.a.from: 'one' does not begin"},
        Fault{"axes: {a: {from: 1, to: 1000000, step: 1}}", "more than 100000 values"},
        Fault{"axes: {a: {from: 1, to: 2, stepp: 1}}", "axes.a.step: missing"},
        Fault{"axes: {run.trace: [full]}", "changes no result"},
        Fault{"axes: {run.idle_ranks: [true, false]}", "changes no result"},
        Fault{"axes: {a: [1]}\nlinked: [{a: [2]}]", "linked[0].a: is an axis already"},
        Fault{"linked: [{a: [1, 2], b: [3]}]", "linked[0].b: has 1 values, but 'a'"},
        Fault{"linked: [{}]", "linked[0]: no keys"}));

TEST(Axes, CountsHugeGridsWithoutOverflow) {
  std::string text = "axes:\n";
  for (int i = 0; i < 5; ++i) {
    text += "  k" + std::to_string(i) + ": {from: 1, to: 10000, step: 1}\n";
  }
  EXPECT_THROW(static_cast<void>(read(text).points()), ConfigError);
}

}  // namespace
}  // namespace tessera::explore::axes_test
