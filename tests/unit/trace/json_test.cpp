#include "tessera/trace/store/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace tessera::trace::json_test {
namespace {

std::string library_text(const std::string& text, int indent) {
  return nlohmann::ordered_json::parse(text).dump(indent);
}

TEST(Json, IsWrittenAsItLooks) {
  const std::map<std::string, std::uint64_t, std::less<>> rows{{"b", 2}, {"a", 1}};
  Json json{{"name", "run"}, {"ok", true}, {"ranks", 4U}, {"shift", -3}, {"share", 0.25}};
  json["rows"] = rows;
  json["places"] = std::vector<std::uint32_t>{7, 8};
  json["parts"].push_back({{"x", Json()}});
  json["none"] = Json::list();
  EXPECT_EQ(json.text(),
            R"({"name":"run","ok":true,"ranks":4,"shift":-3,"share":0.25,"rows":{"a":1,"b":2},)"
            R"("places":[7,8],"parts":[{"x":null}],"none":[]})");
  EXPECT_EQ(json.text(2), library_text(json.text(), 2));
}

TEST(Json, BracesOfPairsAreObjectsAndOthersLists) {
  EXPECT_EQ((Json{"object", "array"}).text(), R"(["object","array"])");
  EXPECT_EQ((Json{{"type", {"string", "number", "boolean"}}}).text(),
            R"({"type":["string","number","boolean"]})");
  EXPECT_EQ((Json{{"a", {{"b", {{"const", "c"}}}}}}).text(), R"({"a":{"b":{"const":"c"}}})");
  EXPECT_EQ((Json{{1, 2}, {3, 4}}).text(), "[[1,2],[3,4]]");
}

TEST(Json, TextReadsBackAsItWas) {
  const std::string text =
      R"({"z":[0,-1,18446744073709551615,-9223372036854775808,1e+300,0.1,5e-324],)"
      R"("a":"ümlaut \"quoted\"\t\u0001","b":{},"c":[[],{"d":null}]})";
  const std::optional<Json> json = Json::parse(text);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->text(), library_text(text, -1));
  EXPECT_EQ(json->text(1), library_text(text, 1));
  EXPECT_EQ(Json::parse(json->text(3)), json);
}

TEST(Json, OfMembersOfOneNameTheLastCountsInTheFirstPlace) {
  EXPECT_EQ(Json::parse(R"({"a":1,"b":2,"a":3})")->text(), R"({"a":3,"b":2})");
}

TEST(Json, WhatIsNoneIsNotRead) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "\"\xff\"", "'a'"}) {
    EXPECT_FALSE(Json::parse(text)) << text;
  }
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(Json::parse(deep));
  EXPECT_FALSE(Json::parse(std::string(201, '[') + std::string(201, ']')));
  EXPECT_TRUE(Json::parse(std::string(200, '[') + std::string(200, ']')));
}

TEST(Json, GivesOnlyWhatItIs) {
  const Json json = *Json::parse(R"({"text":"1","real":1.5,"huge":300,"minus":-1,"truth":true})");
  EXPECT_EQ(json.at("real").get<double>(), 1.5);
  EXPECT_EQ(json.at("minus").get<double>(), -1);
  EXPECT_EQ(json.at("minus").get<int>(), -1);
  EXPECT_EQ(json.at("huge").get<std::uint16_t>(), 300);
  EXPECT_TRUE(json.at("truth").get<bool>());
  EXPECT_THROW(json.at("huge").get<std::uint8_t>(), JsonError);
  EXPECT_THROW(json.at("minus").get<std::uint64_t>(), JsonError);
  EXPECT_THROW(json.at("real").get<int>(), JsonError);
  EXPECT_THROW(json.at("text").get<int>(), JsonError);
  EXPECT_THROW(json.at("text").get<bool>(), JsonError);
  EXPECT_THROW(json.at("truth").get<double>(), JsonError);
  EXPECT_THROW(json.at("truth").get<std::string>(), JsonError);
  EXPECT_THROW(json.at("text").get<std::vector<int>>(), JsonError);
  EXPECT_THROW(json.at("missing"), JsonError);
  EXPECT_THROW(json.at("text").at("inner"), JsonError);
  EXPECT_EQ(json.find("missing"), nullptr);
}

TEST(Json, WholeNumbersKnowTheirRange) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(Json(most).is_whole_in(0, most));
  EXPECT_FALSE(Json(most).is_whole_in(0, most - 1));
  EXPECT_TRUE(Json(least).is_whole_in(least, 0));
  EXPECT_FALSE(Json(least).is_whole_in(least + 1, 0));
  EXPECT_FALSE(Json(3).is_whole_in(4, 5));
  EXPECT_FALSE(Json(1.0).is_whole_in(0, 5));
  EXPECT_FALSE(Json("1").is_whole_in(0, 5));
}

TEST(Json, TextsThatAreNoUtf8AreWrittenAllTheSame) {
  EXPECT_EQ(Json("a\xff").text(), "\"a\xEF\xBF\xBD\"");
  EXPECT_EQ(json_text("a\xff\n"), "\"a\xEF\xBF\xBD\\n\"");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).text(), "null");
}

TEST(Json, MembersAreErasedAndUpdated) {
  Json json{{"a", 1}, {"b", 2}, {"c", 3}};
  json.erase("b");
  json.update({{"c", 4}, {"d", 5}});
  EXPECT_EQ(json.text(), R"({"a":1,"c":4,"d":5})");
  EXPECT_THROW(json.push_back(1), JsonError);
  EXPECT_THROW(json[0], JsonError);
  json["list"] = {1, 2};
  json["list"][0] = "first";
  EXPECT_EQ(json.at("list").text(), R"(["first",2])");
  EXPECT_THROW(json["list"][2], JsonError);
  EXPECT_THROW(json["a"]["b"] = 1, JsonError);
}

}  // namespace
}  // namespace tessera::trace::json_test
