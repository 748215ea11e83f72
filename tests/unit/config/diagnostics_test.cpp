#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "reading.hpp"

namespace tessera::config::diagnostics_test {
namespace {

TEST(Diagnostics, ThrowsNothingWhenEmpty) {
  const Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_NO_THROW(diagnostics.throw_if_any());
}

TEST(Diagnostics, SortsByFileOfFirstMentionThenPlaceAndKeepsTheOrderOfEquals) {
  Diagnostics diagnostics;
  diagnostics.error({"z.yaml", 9, 1}, "late");
  diagnostics.error({"a.yaml", 1, 1}, "other file");
  diagnostics.error({"z.yaml", 2, 5}, "first of two");
  diagnostics.error({"z.yaml", 2, 3}, "left");
  diagnostics.error({"z.yaml", 2, 5}, "second of two");
  try {
    diagnostics.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "z.yaml:2:3: error: left\n"
                 "z.yaml:2:5: error: first of two\n"
                 "z.yaml:2:5: error: second of two\n"
                 "z.yaml:9:1: error: late\n"
                 "a.yaml:1:1: error: other file");
    EXPECT_EQ(error.exit_code(), 2);
  }
}

TEST(LoadTextFile, ReadsAllBytes) {
  const std::string path = ::testing::TempDir() + "tessera config test.yaml";
  const std::string text = std::string("a: 1\n\0b", 7) + std::string(200'000, 'x');
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(load_text_file(path), text);
  std::remove(path.c_str());
}

TEST(LoadTextFile, NamesThePathAndTheReason) {
  try {
    load_text_file("/does/not/exist.yaml");
    FAIL() << "nothing thrown";
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "cannot read /does/not/exist.yaml: No such file or directory");
  }
  EXPECT_THROW(load_text_file(::testing::TempDir()), IoError);
}

}  // namespace
}  // namespace tessera::config::diagnostics_test
