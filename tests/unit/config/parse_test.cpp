#include <gtest/gtest.h>

#include "reading.hpp"

namespace tessera::config::parse_test {
namespace {

void expect_place(const Place& place, int line, int column) {
  EXPECT_EQ(place.file, "m.yaml");
  EXPECT_EQ(place.line, line);
  EXPECT_EQ(place.column, column);
}

TEST(Parse, KeepsThePlaceOfEveryKeyAndValue) {
  Diagnostics diagnostics;
  const Value root = parse("m.yaml",
                           "width: 4\n"
                           "# a comment\n"
                           "links:\n"
                           "  - rate: 5 GB/s\n"
                           "    ports: [1, \"x\"]\n",
                           diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  ASSERT_EQ(root.members.size(), 2U);
  expect_place(root.members[0].key_place, 1, 1);
  expect_place(root.members[0].value.place, 1, 8);
  const Value::Member* links = root.find("links");
  ASSERT_NE(links, nullptr);
  expect_place(links->key_place, 3, 1);
  const Value& link = links->value.items.at(0);
  expect_place(link.members[0].key_place, 4, 5);
  expect_place(link.members[0].value.place, 4, 11);
  const Value& ports = link.members[1].value;
  expect_place(ports.place, 5, 12);
  expect_place(ports.items.at(1).place, 5, 16);
  EXPECT_EQ(ports.items[1].text, "x");
  EXPECT_TRUE(ports.items[1].quoted);
  EXPECT_FALSE(ports.items[0].quoted);
  EXPECT_EQ(root.find("missing"), nullptr);
}

TEST(Parse, TheValueOfAKeyWithoutOneStandsAtTheKey) {
  Diagnostics diagnostics;
  const Value root = parse("m.yaml", "a:\n\n\nb: 1\n", diagnostics);
  ASSERT_EQ(root.members.size(), 2U);
  EXPECT_EQ(root.members[0].value.kind, Value::Kind::null);
  expect_place(root.members[0].value.place, 1, 1);
}

TEST(Parse, TextIsLeftAsItStands) {
  Diagnostics diagnostics;
  const Value root =
      parse("m.yaml", "a: 010\nb: yes\nc: 'it''s'\nd: \"x\\ty\"\ne: ~\nf: 'null'\n", diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(root.find("a")->value.text, "010");
  EXPECT_EQ(root.find("b")->value.text, "yes");
  EXPECT_EQ(root.find("c")->value.text, "it's");
  EXPECT_EQ(root.find("d")->value.text, "x\ty");
  EXPECT_EQ(root.find("e")->value.kind, Value::Kind::null);
  EXPECT_EQ(root.find("f")->value.kind, Value::Kind::scalar);
}

TEST(Parse, AnEmptyDocumentIsNullAtTheStartOfTheFile) {
  for (const char* text :
       {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "~", "\xEF\xBB\xBF"}) {
    Diagnostics diagnostics;
    const Value root = parse("m.yaml", text, diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << text;
    EXPECT_EQ(root.kind, Value::Kind::null) << text;
    expect_place(root.place, 1, 1);
  }
}

TEST(Parse, AByteOrderMarkAndLineEndsOfWindowsAreFine) {
  Diagnostics diagnostics;
  const Value root = parse("m.yaml",
                           "\xEF\xBB\xBF"
                           "a: 1\r\nb: 2\r\n",
                           diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  ASSERT_EQ(root.members.size(), 2U);
  EXPECT_EQ(root.members[0].value.text, "1");
  expect_place(root.members[1].value.place, 2, 4);
}

TEST(Parse, EveryDuplicateKeyIsReportedWithItsPath) {
  EXPECT_EQ(complaints("machine:\n"
                       "  width: 4\n"
                       "  height: 4\n"
                       "  width: 5\n"
                       "  width: {x: 1, x: 2}\n"
                       "list: [{b: 1}, {b: 1, b: 2}]\n"
                       "machine: 3\n"),
            (Lines{"m.yaml:4:3: error: machine.width: duplicate key; first given at line 2",
                   "m.yaml:5:3: error: machine.width: duplicate key; first given at line 2",
                   "m.yaml:5:17: error: machine.width.x: duplicate key; first given at line 5",
                   "m.yaml:6:23: error: list[1].b: duplicate key; first given at line 6",
                   "m.yaml:7:1: error: machine: duplicate key; first given at line 1"}));
}

TEST(Parse, AKeyInQuotesIsTheSameKey) {
  EXPECT_EQ(complaints("a: 1\n'a': 2\n"),
            (Lines{"m.yaml:2:1: error: a: duplicate key; first given at line 1"}));
}

TEST(Parse, RefusesWhatIsNotSupported) {
  EXPECT_EQ(complaints("a: &x 1\nb: *x\n"),
            (Lines{"m.yaml:1:4: error: a: anchors and aliases are not supported",
                   "m.yaml:2:4: error: b: anchors and aliases are not supported"}));
  EXPECT_EQ(complaints("a: &x {b: 1}\n<<: *x\n"),
            (Lines{"m.yaml:1:4: error: a: anchors and aliases are not supported",
                   "m.yaml:2:5: error: <<: anchors and aliases are not supported"}));
  EXPECT_EQ(complaints("a: !!int 1\nb: [!mine {}]\n"),
            (Lines{"m.yaml:1:4: error: a: tags are not supported",
                   "m.yaml:2:5: error: b[0]: tags are not supported"}));
  EXPECT_EQ(complaints("a: 1\n---\nb: 2\n"),
            (Lines{"m.yaml:2:1: error: only one document is allowed; it ended before this"}));
  EXPECT_EQ(complaints("[a] b\n"),
            (Lines{"m.yaml:1:5: error: only one document is allowed; it ended before this"}));
}

TEST(Parse, RefusesKeysThatAreNotPlainText) {
  EXPECT_EQ(complaints("m:\n  ? [a, b]\n  : 1\n"),
            (Lines{"m.yaml:2:5: error: m: a key must be plain text, not a list or mapping"}));
  EXPECT_EQ(complaints("null: 1\n"),
            (Lines{"m.yaml:1:1: error: a key is missing, or reads as null; put it in quotes"}));
  EXPECT_EQ(complaints("'': 1\n"), (Lines{"m.yaml:1:1: error: a key must not be empty"}));
  EXPECT_EQ(complaints("\"a\\nb\": 1\n"),
            (Lines{"m.yaml:1:1: error: a key must not contain control characters"}));
  EXPECT_EQ(complaints(std::string(257, 'k') + ": 1\n"),
            (Lines{"m.yaml:1:1: error: a key has at most 256 bytes"}));
  EXPECT_EQ(complaints(std::string(256, 'k') + ": 1\n"), Lines{});
}

TEST(Parse, SyntaxErrorsHaveTheirPlace) {
  EXPECT_EQ(
      complaints("a: b: c\n"),
      (Lines{"m.yaml:1:5: error: not valid YAML: no ':' can stand here; put text that contains "
             "one in quotes"}));
  EXPECT_EQ(
      complaints("a: 1\nb: [1, 2\n"),
      (Lines{"m.yaml:2:9: error: not valid YAML: expected ',' or ']'; the list starts at line "
             "2, column 4"}));
  EXPECT_EQ(complaints("a:\n  b: {c: 1 d: 2}\n"),
            (Lines{"m.yaml:2:13: error: not valid YAML: expected ',' or '}'; the mapping starts at "
                   "line 2, column 6"}));
  EXPECT_EQ(complaints("a: {b: [1]\n\n"),
            (Lines{"m.yaml:1:11: error: not valid YAML: expected ',' or '}'; the mapping starts at "
                   "line 1, column 4"}));
  EXPECT_EQ(complaints("a:\n    b: 1\n  c: 2\n"),
            (Lines{"m.yaml:3:3: error: not valid YAML: the indentation fits no line above"}));
  EXPECT_EQ(
      complaints("a: [1, 2}\n"),
      (Lines{"m.yaml:1:9: error: not valid YAML: a closing bracket without its opening one"}));
  EXPECT_EQ(
      complaints("[1, 2"),
      (Lines{"m.yaml:1:6: error: not valid YAML: expected ',' or ']'; the list starts at line "
             "1, column 1"}));
  EXPECT_EQ(complaints("a:\n\tb: 1\n"),
            (Lines{"m.yaml:2:3: error: not valid YAML: a tab cannot indent; use spaces"}));
}

TEST(Parse, AQuoteThatIsNeverClosedIsAnError) {
  for (const char* text : {"a: 'open", "a: 'open\n", "a: 'open\n\n", "a: 'open \n", "a: \"open",
                           "a: \"open\n", "a: \"open\\", "a: \"open\\\n", "a: 'it''\n"}) {
    const Lines lines = complaints(text);
    ASSERT_EQ(lines.size(), 1U) << text;
    EXPECT_NE(lines[0].find("not valid YAML: a quote is never closed"), std::string::npos)
        << lines[0];
    EXPECT_EQ(lines[0].substr(0, 9), "m.yaml:1:") << lines[0];
  }
  EXPECT_EQ(complaints("a: 1\nb: 'open\nc: 1\n"),
            (Lines{"m.yaml:3:5: error: not valid YAML: a quote is never closed"}));
}

TEST(Parse, TextsOverSeveralLines) {
  Diagnostics diagnostics;
  const Value root =
      parse("m.yaml", "a: |\n  x\n   y\nb: >\n  x\n  y\nc: x\n  y\nd: |-\n  z", diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(root.find("a")->value.text, "x\n y\n");
  EXPECT_EQ(root.find("b")->value.text, "x y\n");
  EXPECT_EQ(root.find("c")->value.text, "x y");
  EXPECT_EQ(root.find("d")->value.text, "z");
}

}  // namespace
}  // namespace tessera::config::parse_test
