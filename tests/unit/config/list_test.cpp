#include <gtest/gtest.h>

#include "reading.hpp"

namespace tessera::config::list_test {
namespace {

TEST(SectionList, ReadsEveryElement) {
  Reading reading("sizes: [1 KiB, 2 KiB]\nflags:\n  - true\n  - false\nempty: []\n");
  Section& root = reading.root;
  EXPECT_EQ(root.get_list<Bytes>("sizes"), (std::vector{Bytes(1024), Bytes(2048)}));
  EXPECT_EQ(root.get_list<bool>("flags"), (std::vector{true, false}));
  EXPECT_TRUE(root.get_list<std::int64_t>("empty", {1}).empty());
  EXPECT_EQ(root.get_list<std::int64_t>("absent", {1, 2}), (std::vector<std::int64_t>{1, 2}));
  root.finish();
  EXPECT_EQ(reading.lines(), Lines{});
}

TEST(SectionList, EveryBadElementHasItsOwnPlace) {
  Reading reading("a: [1, x, 3, [4],\n  '5', ~]\n");
  EXPECT_EQ(reading.root.get_list<std::int64_t>("a", {9}), (std::vector<std::int64_t>{9}));
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:8: error: a[1]: expected a whole number; got 'x'",
                   "m.yaml:1:14: error: a[3]: expected a single value; got a list",
                   "m.yaml:2:3: error: a[4]: expected a whole number without quotes; got '5' in "
                   "quotes",
                   "m.yaml:2:8: error: a[5]: missing value"}));
}

TEST(SectionList, SomethingElse) {
  Reading reading("scalar: 1\nmapping: {a: 1}\nnothing:\n");
  reading.root.get_list<std::int64_t>("scalar");
  reading.root.get_list<std::int64_t>("mapping");
  reading.root.get_list<std::int64_t>("nothing");
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:9: error: scalar: expected a list; got a single value",
                   "m.yaml:2:10: error: mapping: expected a list; got a mapping",
                   "m.yaml:3:1: error: nothing: missing value; write [] for an empty list"}));
}

TEST(SectionSections, OneForEachMapping) {
  Reading reading("nodes:\n  - name: a\n  - {name: b, rank: 2}\n");
  std::vector<Section> nodes = reading.root.sections("nodes");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].get<std::string>("name"), "a");
  EXPECT_EQ(nodes[1].get<std::string>("name"), "b");
  nodes[0].get<std::int64_t>("rank");
  EXPECT_EQ(nodes[1].path(), "nodes[1]");
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:2:5: error: nodes[0].rank: missing; give a whole number, e.g. 4"}));
}

TEST(SectionSections, SomethingElse) {
  Reading reading("scalar: 1\nmixed: [{a: 1}, 2, ~]\nnothing:\n");
  EXPECT_TRUE(reading.root.sections("scalar").empty());
  EXPECT_EQ(reading.root.sections("mixed").size(), 3U);
  EXPECT_TRUE(reading.root.sections("nothing").empty());
  EXPECT_TRUE(reading.root.sections("absent").empty());
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:9: error: scalar: expected a list of mappings; got a single value",
                   "m.yaml:2:17: error: mixed[1]: expected a mapping; got a single value"}));
}

}  // namespace
}  // namespace tessera::config::list_test
