#include <gtest/gtest.h>

#include "tables.hpp"
#include "tessera/migration/format.hpp"

namespace tessera::migration::tables_test {
namespace {

TEST(Ini, KeepsPlacesAndBothSigns) {
  config::Diagnostics diagnostics;
  const config::Value root =
      read_ini("a.cfg", "# said\n[one]\n key : 1 : 2\n\n[two]\nempty =\n; said\n", diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  ASSERT_EQ(root.members.size(), 2U);
  const config::Value::Member& key = root.members[0].value.members.at(0);
  EXPECT_EQ(key.key, "key");
  EXPECT_EQ(key.value.text, "1 : 2");
  EXPECT_EQ(key.key_place.line, 3);
  EXPECT_EQ(key.key_place.column, 2);
  EXPECT_EQ(key.value.place.column, 8);
  EXPECT_EQ(root.members[1].value.find("empty")->value.kind, config::Value::Kind::null);
}

TEST(Ini, ComplainsWithPlaces) {
  config::Diagnostics diagnostics;
  read_ini("a.cfg", "a: 1\n[one\n[two]\nb: 1\nb: 2\n: 3\nword\n[two]\n", diagnostics);
  std::vector<int> lines;
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    lines.push_back(diagnostic.line);
  }
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 5, 6, 7, 8}));
}

TEST(Csv, LeavesOutEmptyLinesAndLastCommas) {
  const auto rows = read_csv("a.csv", "name, M,\r\n\n,,,\n first ,, 3 , \n");
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(rows[0].size(), 2U);
  EXPECT_EQ(rows[0][1].text, "M");
  ASSERT_EQ(rows[1].size(), 3U);
  EXPECT_EQ(rows[1][0].text, "first");
  EXPECT_EQ(rows[1][1].text, "");
  EXPECT_EQ(rows[1][2].text, "3");
  EXPECT_EQ(rows[1][2].place.line, 4);
  EXPECT_EQ(rows[1][2].place.column, 11);
}

// What a misspelt name is answered with; each format declares what it is given.
TEST(Formats, HaveDeclaredKeys) {
  EXPECT_EQ(formats().names(), (std::vector<std::string>{"astra-sim", "onnxim", "scale-sim"}));
  for (const PartInfo& info : formats().infos()) {
    for (const ParameterInfo& parameter : info.parameters) {
      EXPECT_FALSE(parameter.type.empty()) << info.name << " " << parameter.name;
    }
  }
}

}  // namespace
}  // namespace tessera::migration::tables_test
