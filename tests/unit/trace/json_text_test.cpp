#include "tessera/trace/json_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tessera::trace::json_text_test {
namespace {

TEST(JsonText, KeepsKindsAndTheOrderOfKeys) {
  const JsonText object = JsonText::object()
                              .put("text", "a \"b\"")
                              .put("truth", true)
                              .put("most", std::numeric_limits<std::uint64_t>::max())
                              .put("least", std::numeric_limits<std::int64_t>::min())
                              .put("small", std::uint8_t{7})
                              .put("real", 0.5)
                              .put("nothing", JsonText::null());
  EXPECT_EQ(object.to_line(),
            R"({"text":"a \"b\"","truth":true,"most":18446744073709551615,)"
            R"("least":-9223372036854775808,"small":7,"real":0.5,"nothing":null})");
}

TEST(JsonText, HoldsListsAndObjects) {
  const JsonText list = JsonText::list().add(1).add(JsonText::object().put("a", JsonText::list()));
  EXPECT_EQ(list.to_line(), R"([1,{"a":[]}])");
  EXPECT_EQ(list.to_string(), "[\n  1,\n  {\n    \"a\": []\n  }\n]\n");
}

TEST(JsonText, WhatJsonCannotSayIsReplaced) {
  EXPECT_EQ(JsonText(std::numeric_limits<double>::infinity()).to_line(), "null");
  EXPECT_EQ(JsonText("a\xff").to_line(), "\"a\xef\xbf\xbd\"");
}

TEST(JsonText, CopiesAreTheirOwn) {
  JsonText one = JsonText::list().add(1);
  const JsonText two = one;
  one.add(2);
  EXPECT_EQ(two.to_line(), "[1]");
  one = two;
  EXPECT_EQ(one.to_line(), "[1]");
}

}  // namespace
}  // namespace tessera::trace::json_text_test
