// What is written holds whole characters only, whatever sources hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tessera/core/error.hpp"
#include "tessera/migration/format.hpp"

namespace tessera::migration::text_test {
namespace {

using ::testing::HasSubstr;

const std::string array =
    "[general]\nrun_name = a\n[architecture_presets]\nArrayHeight: 8\nArrayWidth: 8\nDataflow: "
    "ws\n";
const std::string products = "Layer, M, N, K,\na, 4, 4, 4,\n";

// By format scale-sim, of these files.
Migrated migrated(const std::map<std::string, std::string>& files,
                  const std::string& source = "a.cfg") {
  config::Diagnostics diagnostics;
  const config::Value given = config::parse("--with", "{topology: l.csv}", diagnostics);
  const auto load = [&](const std::string& path) { return files.at(path); };
  Request request{
      source,     config::Section(given, "", diagnostics), load, "imported.yaml", "imported", "",
      diagnostics};
  return migrate("scale-sim", request);
}

std::string complaint_of(const std::map<std::string, std::string>& files) {
  try {
    migrated(files);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Sources, AreRefusedWhereTheyAreNoPlainText) {
  EXPECT_EQ(complaint_of({{"a.cfg", array}, {"l.csv", products}}), "");
  // As Latin-1 has an e with an accent.
  EXPECT_THAT(complaint_of({{"a.cfg", array + "Cach\xE9: 5\n"}, {"l.csv", products}}),
              HasSubstr("a.cfg:7:5: error: not valid UTF-8"));
  EXPECT_THAT(complaint_of({{"a.cfg", array}, {"l.csv", products + "\xE9, 4, 4, 4,\n"}}),
              HasSubstr("l.csv:3:1: error: not valid UTF-8"));
}

// A text that is too long to be shown is cut between two characters.
TEST(Sources, AreShownInWholeCharacters) {
  for (std::size_t before = 50; before < 70; ++before) {
    std::string value(before, 'x');
    for (int i = 0; i < 20; ++i) {
      value += "\xE2\x82\xAC";  // three bytes each
    }
    const Migrated result =
        migrated({{"a.cfg", array + "Unheard: " + value + "\n"}, {"l.csv", products}});
    ASSERT_FALSE(result.files.empty());
    EXPECT_THAT(result.files[0].text, HasSubstr("Unheard: xxx"));
    EXPECT_THAT(result.files[0].text, HasSubstr("\xE2\x80\xA6 (a.cfg:7)"));
    config::Diagnostics diagnostics;
    config::parse("imported.yaml", result.files[0].text, diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << before;
  }
}

// A file may be named in any bytes.
TEST(Sources, NamesThatAreNotUtf8AreShownWithoutTheirBytes) {
  const std::string name = "caf\xE9\n.cfg";
  const Migrated result = migrated({{name, array}, {"l.csv", products}}, name);
  ASSERT_FALSE(result.files.empty());
  EXPECT_THAT(result.files[0].text, HasSubstr("of caf??.cfg, l.csv"));
  config::Diagnostics diagnostics;
  config::parse("imported.yaml", result.files[0].text, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
}

}  // namespace
}  // namespace tessera::migration::text_test
