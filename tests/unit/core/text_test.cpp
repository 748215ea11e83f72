#include "tessera/core/text.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>
#include <string>
#include <vector>

namespace tessera::text_test {
namespace {

const std::vector<std::string> keys{"bandwidth", "latency", "queue_depth"};

TEST(NearestMatch, FindsAMisspeltName) {
  EXPECT_EQ(nearest_match("bandwith", keys), "bandwidth");
  EXPECT_EQ(nearest_match("latencies", keys), "latency");
  EXPECT_EQ(nearest_match("queue-depth", keys), "queue_depth");
  EXPECT_EQ(nearest_match("latency", keys), "latency");
  const std::vector<std::string> short_names{"model", "ring", "run"};
  EXPECT_EQ(nearest_match("modle", short_names), "model");
  EXPECT_EQ(nearest_match("rign", short_names), "ring");
  EXPECT_EQ(nearest_match("rnu", short_names), "run");
}

TEST(NearestMatch, SuggestsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_match("colour", keys), "");
  EXPECT_EQ(nearest_match("", keys), "");
  EXPECT_EQ(nearest_match("bandwidth", {}), "");
}

TEST(NearestMatch, TheNearerOfTwoWins) {
  const std::vector<std::string> names{"ring_2d", "ring"};
  EXPECT_EQ(nearest_match("rings", names), "ring");
}

TEST(UnknownName, SuggestsAndLists) {
  EXPECT_EQ(unknown_name("key", "bandwith", keys),
            "unknown key 'bandwith'; did you mean 'bandwidth'? known: bandwidth, latency, "
            "queue_depth");
  EXPECT_EQ(unknown_name("key", "colour", keys),
            "unknown key 'colour'; known: bandwidth, latency, queue_depth");
}

TEST(UnknownName, OfVeryManyOnlySuggests) {
  std::vector<std::string> many;
  for (int number = 0; number < 1000; ++number) {
    many.push_back("gpu" + std::to_string(number));
  }
  EXPECT_EQ(unknown_name("node", "gpu_17", many), "unknown node 'gpu_17'; did you mean 'gpu17'?");
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join(keys, "|"), "bandwidth|latency|queue_depth");
  EXPECT_EQ(join(std::vector<std::string>{"", "a", ""}), ", a, ") << "an empty item is an item";
}

TEST(FormatNumber, IsTheShortestThatReadsBack) {
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(1.0), "1");
  EXPECT_EQ(format_number(-2.5), "-2.5");
  for (const double value : {1.0 / 3, 1e300, 5e-324, std::numeric_limits<double>::max()}) {
    const std::string text = format_number(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, value) << text;
  }
}

TEST(TextTable, AlignsTextLeftAndNumbersRight) {
  TextTable table({"part", "time", "note"});
  table.add({"ring", "5", "fast"});
  table.add({"direct", "12.5", ""});
  table.add({"x", "-1", "+2"});
  EXPECT_EQ(table.to_string(),
            "part    time  note\n"
            "ring       5  fast\n"
            "direct  12.5\n"
            "x         -1    +2\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"a", "b"});
  table.add({"µs", "x"});
  table.add({"long", "y"});
  EXPECT_EQ(table.to_string(), "a     b\nµs    x\nlong  y\n");
}

TEST(TextTable, RowsMayDifferInLength) {
  TextTable table({"a"});
  table.add({"b", "c"});
  EXPECT_EQ(table.to_string(), "a\nb  c\n");
}

}  // namespace
}  // namespace tessera::text_test
