// The one rule for names.
#include "tessera/config/name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::config::name_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Name, MayBeAnyTitleOnOneLine) {
  for (const char* name :
       {"a", "GPT-3 6.7B", "w\xc3\xa4hrend", "4x4 wafer", "a..b", "\xe2\x82\xac"}) {
    EXPECT_THAT(objection_to_name(name), IsEmpty()) << name;
  }
}

TEST(Name, IsNoPath) {
  EXPECT_THAT(objection_to_name("../../x"), HasSubstr("no slash"));
  EXPECT_THAT(objection_to_name("/etc"), HasSubstr("no slash"));
  EXPECT_THAT(objection_to_name(".."), HasSubstr("no dot"));
  EXPECT_THAT(objection_to_name(""), HasSubstr("empty"));
  EXPECT_THAT(objection_to_name(std::string(201, 'x')), HasSubstr("200 bytes"));
}

TEST(Name, HasNothingThatATerminalObeys) {
  for (const std::string& name :
       {std::string("a\x1b[2J"), std::string("a\0b", 3), std::string("a\nb"), std::string("a\x7f"),
        std::string("a\xc2\x9b"
                    "2J")}) {
    EXPECT_THAT(objection_to_name(name), HasSubstr("control characters"));
  }
  EXPECT_EQ(find_control("a\xc3\xa4\xc2\xa0"), std::string::npos);
}

}  // namespace
}  // namespace tessera::config::name_test
