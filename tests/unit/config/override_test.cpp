#include <gtest/gtest.h>

#include "reading.hpp"

namespace tessera::config::override_test {
namespace {

class Override : public ::testing::Test {
 protected:
  void apply(const std::string& assignment) { apply_override(root_, assignment, diagnostics_); }
  Lines lines() const { return lines_of(diagnostics_); }

  Diagnostics diagnostics_;
  Value root_ = parse("m.yaml", "a: {b: 1, c: 2}\nlist: [1, 2]\nempty:\n", diagnostics_);
};

TEST_F(Override, ReplacesAValueAndKeepsTheOthers) {
  apply("a.b=12 ns");
  EXPECT_EQ(lines(), Lines{});
  const Value& a = root_.find("a")->value;
  ASSERT_EQ(a.members.size(), 2U);
  EXPECT_EQ(a.members[0].key, "b");
  EXPECT_EQ(a.members[0].value.text, "12 ns");
  EXPECT_EQ(a.members[1].value.text, "2");
}

TEST_F(Override, ItsPlacesPointIntoTheAssignment) {
  apply("a.b=oops");
  const Value::Member* b = root_.find("a")->value.find("b");
  EXPECT_EQ(b->key_place.file, "--set a.b=oops");
  EXPECT_EQ(b->key_place.column, 3);
  Section root(root_, "", diagnostics_);
  root.section("a").get<std::int64_t>("b");
  EXPECT_EQ(lines(),
            (Lines{"--set a.b=oops:1:5: error: a.b: expected a whole number; got 'oops'"}));
}

TEST_F(Override, AddsMissingMappings) {
  apply("x.y.z=1");
  apply("empty.k=v");
  EXPECT_EQ(lines(), Lines{});
  EXPECT_EQ(root_.find("x")->value.find("y")->value.find("z")->value.text, "1");
  EXPECT_EQ(root_.find("empty")->value.find("k")->value.text, "v");
  Value nothing;
  apply_override(nothing, "k=v", diagnostics_);
  EXPECT_EQ(nothing.find("k")->value.text, "v");
}

TEST_F(Override, TakesListsMappingsQuotesAndNothing) {
  apply("list=[4, 5, 6]");
  apply("a={d: '3'}");
  apply("empty=");
  apply("expression=a=b");
  EXPECT_EQ(lines(), Lines{});
  EXPECT_EQ(root_.find("list")->value.items.size(), 3U);
  EXPECT_EQ(root_.find("a")->value.members.size(), 1U);
  EXPECT_TRUE(root_.find("a")->value.find("d")->value.quoted);
  EXPECT_EQ(root_.find("empty")->value.kind, Value::Kind::null);
  EXPECT_EQ(root_.find("expression")->value.text, "a=b");
}

TEST(OverrideOfAList, ANumberNamesAnItem) {
  Diagnostics diagnostics;
  Value root = parse("m.yaml", "list: [{a: {b: 1}}, 2, [3, 4]]", diagnostics);
  apply_override(root, "list.0.a.b=5", diagnostics);
  apply_override(root, "list.0.c.d=6", diagnostics);
  apply_override(root, "list.2.1=7", diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_EQ(to_inline_yaml(root), "{list: [{a: {b: 5}, c: {d: 6}}, 2, [3, 7]]}");
  apply_override(root, "list.3=1", diagnostics);
  apply_override(root, "list.2.-1=1", diagnostics);
  EXPECT_EQ(
      lines_of(diagnostics),
      (Lines{"--set list.3=1:1:6: error: list is a list of 3, from 0 on; '3' cannot be set in it",
             "--set list.2.-1=1:1:8: error: list.2 is a list; '-1' cannot be set in it"}));
}

TEST_F(Override, RefusesABadPathAndChangesNothing) {
  const Value before = root_;
  apply("a.b");
  apply("=1");
  apply("a..b=1");
  apply("a.=1");
  apply("a.b.c=1");
  apply("list.x=1");
  apply("list[0]=1");
  EXPECT_EQ(lines(),
            (Lines{"--set a.b:1:1: error: expected key.path=value",
                   "--set =1:1:1: error: a key is missing in the path ''",
                   "--set a..b=1:1:3: error: a key is missing in the path 'a..b'",
                   "--set a.=1:1:3: error: a key is missing in the path 'a.'",
                   "--set a.b.c=1:1:5: error: a.b is a single value; 'c' cannot be set in it",
                   "--set list.x=1:1:6: error: list is a list; 'x' cannot be set in it",
                   "--set list[0]=1:1:1: error: 'list[0]' cannot stand in a path; a list is "
                   "replaced whole"}));
  EXPECT_TRUE(same(before, root_));
}

TEST_F(Override, RefusesABadValueAndChangesNothing) {
  const Value before = root_;
  apply("a.new.b=[1, 2");
  apply("a={x: 1, x: 2}");
  apply("a=&x 1");
  EXPECT_EQ(lines(),
            (Lines{"--set a.new.b=[1, 2:1:14: error: a.new.b: not valid YAML: expected ',' or ']'; "
                   "the list starts at line 1, column 9",
                   "--set a={x: 1, x: 2}:1:10: error: a.x: duplicate key; first given at line 1",
                   "--set a=&x 1:1:3: error: a: anchors and aliases are not supported"}));
  EXPECT_TRUE(same(before, root_));
}

TEST_F(Override, RefusesAnEndlessPath) {
  std::string path = "k";
  for (int i = 0; i < 100'000; ++i) {
    path += ".k";
  }
  apply(path + "=1");
  ASSERT_EQ(diagnostics_.list().size(), 1U);
  EXPECT_EQ(diagnostics_.list()[0].message, "more than 64 levels");
}

TEST(OverrideOfAList, NothingCanBeSetInADocumentThatIsNoMapping) {
  Diagnostics diagnostics;
  Value root = parse("m.yaml", "[1, 2]", diagnostics);
  apply_override(root, "a=1", diagnostics);
  EXPECT_EQ(lines_of(diagnostics),
            (Lines{"--set a=1:1:1: error: the document is a list; 'a' cannot be set in it"}));
}

}  // namespace
}  // namespace tessera::config::override_test
