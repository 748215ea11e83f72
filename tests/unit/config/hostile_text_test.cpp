// Texts made to break the reader: it may refuse them, with a place, and nothing else.
#include <gtest/gtest.h>

#include <random>

#include "reading.hpp"

namespace tessera::config::hostile_text_test {
namespace {

const std::string sample =
    "# a sample with every construct\n"
    "machine:\n"
    "  topology: {kind: mesh, rows: 4, columns: 4}\n"
    "  name: 'it''s \xC3\xA9' # comment\n"
    "  text: \"tab\\t \\u00e9\"\n"
    "  links:\n"
    "    - rate: 256 GB/s\n"
    "      latency: 0.3 ns\n"
    "    - {rate: 1 GiB/s}\n"
    "  note: |\n"
    "    two\n"
    "    lines\n"
    "  list: [1, [2, 3], {a: b}, ~]\n"
    "seed: 010\n";

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

// Parses, and reads everything in it the way the program does.
void expect_orderly(const std::string& text) {
  Diagnostics diagnostics;
  const Value value = parse("m.yaml", text, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    ASSERT_EQ(diagnostic.file, "m.yaml");
    ASSERT_GE(diagnostic.line, 1);
    ASSERT_GE(diagnostic.column, 1);
    ASSERT_FALSE(diagnostic.message.empty());
  }
  if (!diagnostics.empty()) {
    ASSERT_EQ(value.kind, Value::Kind::null);
    return;
  }
  // What was accepted can be written and read again.
  Section root(value, "", diagnostics);
  for (const std::string& key : root.keys()) {
    root.raw(key);
  }
  root.finish();
  if (root.is_mapping()) {
    Diagnostics second;
    const std::string yaml = root.resolved_yaml();
    ASSERT_TRUE(same(parse("r.yaml", yaml, second), value)) << text << "\n-- became\n" << yaml;
    ASSERT_TRUE(second.empty()) << yaml;
  }
}

TEST(HostileText, TheSampleItselfIsFine) {
  EXPECT_EQ(complaints(sample), Lines{});
}

TEST(HostileText, CutAnywhere) {
  for (std::size_t length = 0; length < sample.size(); ++length) {
    SCOPED_TRACE(length);
    expect_orderly(sample.substr(0, length));
  }
}

TEST(HostileText, MutatedThousandsOfTimes) {
  std::mt19937 random(20240511);
  const std::string alphabet =
      "[]{},:?-&*!|>'\"%#@`~ \t\n\r\\x0e." + std::string("\0\x04\xFF\xC3", 4);
  const auto below = [&](std::size_t n) { return random() % n; };
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = sample;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      const char letter = alphabet[below(alphabet.size())];
      switch (below(4)) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1 + below(3), letter);
          break;
        case 2:
          text.erase(at, 1 + below(6));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(40)));
      }
    }
    SCOPED_TRACE(text);
    expect_orderly(text);
    accepted += complaints(text).empty() ? 1 : 0;
    if (HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(accepted, 100);  // else the loop would test the refusals alone
}

TEST(HostileText, RandomMarks) {
  std::mt19937 random(7);
  const std::string alphabet = "[]{},:?-&*!|>'\"%#\n\n  ab~.1";
  for (int i = 0; i < 8000; ++i) {
    std::string text;
    for (std::size_t n = random() % 24; n > 0; --n) {
      text += alphabet[random() % alphabet.size()];
    }
    SCOPED_TRACE(text);
    expect_orderly(text);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST(HostileText, SixtyFourLevelsAreRead) {
  EXPECT_EQ(complaints("a: " + repeated("[", 63) + repeated("]", 63)), Lines{});
  EXPECT_EQ(complaints("a: " + repeated("[", 64) + repeated("]", 64)),
            (Lines{"m.yaml:1:67: error: more than 64 levels"}));
}

TEST(HostileText, DeepNestingOfEveryKindIsRefused) {
  for (const char* part :
       {"[", "{", "- ", "? ", ": ", "{a: ", "[?  ", "[: ", "{[", "[\n", "[a: {"}) {
    const Lines lines = complaints(repeated(part, 100'000));
    ASSERT_FALSE(lines.empty()) << part;
    EXPECT_NE(lines.back().find("more than 64 levels"), std::string::npos) << lines.back();
  }
  std::string steps;
  for (std::size_t i = 0; i < 200; ++i) {
    steps += std::string(i, ' ') + "a:\n";
  }
  EXPECT_EQ(complaints(steps), (Lines{"m.yaml:65:65: error: more than 64 levels"}));
}

TEST(HostileText, LongInputsOfOneKindEnd) {
  for (const char* part :
       {"'",   "\"",  "\"a\" ", "&",  "&a ", "*a ", "!a ", "%a b\n", "---\n",  "]", "}", "a\n",
        "?\n", "-\n", "|\n",    "\t", "#",   "\n",  ",",   ":",      "a: 1\n", "@", "a:"}) {
    SCOPED_TRACE(part);
    expect_orderly(repeated(part, 4'000));
  }
}

TEST(HostileText, OnlyTheFirstErrorsAreKept) {
  EXPECT_EQ(complaints(repeated("a: 1\n", 10'000)).size(), 101U);
}

TEST(HostileText, BytesThatAreNoText) {
  EXPECT_EQ(complaints(std::string("a: 1\nb: \0", 9)),
            (Lines{"m.yaml:2:4: error: a NUL byte; text in UTF-8 has none"}));
  EXPECT_EQ(complaints("a: \x04 b\n"),
            (Lines{"m.yaml:1:4: error: a control character that is neither tab nor end of line"}));
  // Latin-1, a cut character, an overlong one, a surrogate, beyond Unicode, and UTF-16.
  for (const char* text : {"a: \xE9t\xE9", "a: \xC3", "a: \xC0\xAF", "a: \xED\xA0\x80",
                           "a: \xF4\x90\x80\x80", "a: \xE2\x82", "a: \xF0\x9F\x98", "a: \x80"}) {
    EXPECT_EQ(complaints(text), (Lines{"m.yaml:1:4: error: not valid UTF-8"}));
  }
  EXPECT_EQ(complaints("\xFF\xFE"
                       "a"),
            (Lines{"m.yaml:1:1: error: not valid UTF-8"}));
  EXPECT_EQ(complaints("a: \xF0\x9F\x98\x80 \xE2\x82\xAC"), Lines{});
}

TEST(HostileText, TooBig) {
  EXPECT_EQ(complaints("#" + std::string(std::size_t{16} << 20, 'x')),
            (Lines{"m.yaml:1:16777217: error: too big: more than 16 MiB"}));
  EXPECT_EQ(complaints("a: '" + std::string(2'000'000, ',') + "'"),
            (Lines{"m.yaml:1:2000003: error: too big: more than 2000000 punctuation marks"}));
}

}  // namespace
}  // namespace tessera::config::hostile_text_test
