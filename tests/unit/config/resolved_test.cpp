// The resolved configuration: everything that was read, and it reads back as the same.
#include <gtest/gtest.h>
#include <algorithm>

#include <filesystem>

#include "reading.hpp"

namespace tessera::config::resolved_test {
namespace {

TEST(Resolved, HoldsWhatWasReadInOrderOfReading) {
  Reading reading(
      "network:\n"
      "  packet_size: 4096 B\n"
      "  kind: packet\n"
      "seed: 010\n"
      "links:\n"
      "  - {rate: 400 Gb/s, ports: [1, 2]}\n"
      "  - {rate: 1 GB/s}\n"
      "unread: 1\n"
      "table: {'yes': [1, {a: [b]}], x: 'true'}\n");
  Section& root = reading.root;
  root.get<std::int64_t>("seed");
  Section network = root.section("network");
  network.get_name("kind", {"packet", "flit"});
  network.get<Bytes>("packet_size");
  network.get_or<SimTime>("latency", SimTime::from_ps(1500));
  network.get_optional<double>("load");
  network.section("router").get_or<Fraction>("share", Fraction::millionths(850'000));
  root.section("absent");
  for (Section& link : root.sections("links")) {
    link.get<Bandwidth>("rate");
    link.get_list<std::int64_t>("ports");
  }
  root.sections("no_links");
  root.raw("table");
  root.get_or<SimTime>("stop", SimTime::never());
  root.get_or<bool>("trace", true);
  EXPECT_EQ(root.resolved_yaml(),
            "seed: 10\n"
            "network:\n"
            "  kind: packet\n"
            "  packet_size: 4 KiB\n"
            "  latency: 1.5 ns\n"
            "  router:\n"
            "    share: 0.85\n"
            "links:\n"
            "  - rate: 50 GB/s\n"
            "    ports: [1, 2]\n"
            "  - rate: 1 GB/s\n"
            "    ports: []\n"
            "table:\n"
            "  'yes':\n"
            "    - 1\n"
            "    - a: [b]\n"
            "  x: 'true'\n"
            "trace: true\n");
  EXPECT_EQ(network.resolved_yaml().substr(0, 13), "kind: packet\n");
}

TEST(Resolved, FilesAreNamedFromTheRoot) {
  Diagnostics diagnostics;
  Value document =
      parse("some/folder/m.yaml", "model: a.onnx\nlist: [b, ../c, /d]\nnone: ''\n", diagnostics);
  apply_override(document, "given=e/f", diagnostics);
  Section root(document, "", diagnostics);
  EXPECT_EQ(root.get_file("model"), "some/folder/a.onnx");
  EXPECT_EQ(root.get_files("list"), (std::vector<std::string>{"some/folder/b", "some/c", "/d"}));
  EXPECT_EQ(root.get_optional_file("given"), "e/f");  // from the command line
  EXPECT_EQ(root.get_file("none"), "");
  EXPECT_EQ(root.get_optional_file("absent"), std::nullopt);
  EXPECT_EQ(root.get_files("no_list"), std::vector<std::string>{});
  const std::string here = std::filesystem::current_path().string();
  const std::string resolved = root.resolved_yaml();
  EXPECT_EQ(resolved, "model: '" + here + "/some/folder/a.onnx'\nlist: ['" + here +
                          "/some/folder/b', '" + here + "/some/c', '/d']\ngiven: '" + here +
                          "/e/f'\nnone: ''\nno_list: []\n");
  EXPECT_TRUE(diagnostics.empty());

  const Value second = parse("elsewhere/m.yaml", resolved, diagnostics);
  Section again(second, "", diagnostics);
  EXPECT_EQ(again.get_file("model"), here + "/some/folder/a.onnx");
  again.get_files("list");
  again.get_optional_file("given");
  again.get_file("none");
  again.get_files("no_list");
  EXPECT_EQ(again.resolved_yaml(), resolved);
}

TEST(Resolved, ComplaintsAboutFilesAreMadeOnce) {
  Reading reading("list: a\nname: [b]\n");
  EXPECT_EQ(reading.root.get_file("absent"), "");
  EXPECT_EQ(reading.root.get_file("name"), "");
  EXPECT_EQ(reading.root.get_files("list"), std::vector<std::string>{});
  EXPECT_EQ(reading.lines().size(), 3U);
}

TEST(Resolved, NothingReadIsAnEmptyMapping) {
  EXPECT_EQ(Reading("a: 1\n").root.resolved_yaml(), "{}\n");
  Reading reading("a: {}\n");
  reading.root.section("a");
  EXPECT_EQ(reading.root.resolved_yaml(), "a: {}\n");
}

TEST(Resolved, TheLastReadingOfAKeyCounts) {
  Reading reading("a: 5\n");
  reading.root.raw("a");
  reading.root.get<std::int64_t>("a");
  reading.root.raw("a");
  EXPECT_EQ(reading.root.resolved_yaml(), "a: 5\n");
  reading.root.get<double>("a");
  EXPECT_EQ(reading.root.resolved_yaml(), "a: 5\n");
}

template <Readable T>
void expect_round_trip(const T& value) {
  Reading first("{}\n");
  first.root.get_or<T>("a", value);
  first.root.get_list<T>("list", {value, value});
  const std::string yaml = first.root.resolved_yaml();
  Reading second(yaml);
  EXPECT_EQ(second.root.get<T>("a"), value) << yaml;
  EXPECT_EQ(second.root.get_list<T>("list"), (std::vector<T>{value, value})) << yaml;
  EXPECT_EQ(second.lines(), Lines{}) << yaml;
  EXPECT_EQ(second.root.resolved_yaml(), yaml);
}

TEST(Resolved, EveryNumberReadsBackExactly) {
  const std::uint64_t counts[] = {0,
                                  1,
                                  999,
                                  1000,
                                  1001,
                                  1024,
                                  4096,
                                  123'456'789,
                                  1'000'000'000'001,
                                  9'007'199'254'740'993,
                                  9'223'372'036'854'775'806,
                                  18'446'744'073'709'551'615U};
  for (const std::uint64_t n : counts) {
    expect_round_trip(Bytes(std::min(n, std::uint64_t{1} << 60U)));  // the largest that a key takes
    expect_round_trip(Bandwidth::bytes_per_second(n));
    expect_round_trip(Clock::hertz(n));
    expect_round_trip(Flops(n));
    expect_round_trip(FlopRate::flops_per_second(n));
    if (n <= 9'223'372'036'854'775'806) {
      expect_round_trip(SimTime::from_ps(static_cast<std::int64_t>(n)));
      expect_round_trip(static_cast<std::int64_t>(n));
      expect_round_trip(-static_cast<std::int64_t>(n));
    }
  }
  for (const std::uint64_t n : {0U, 1U, 7U, 123'456U, 333'333U, 850'000U, 999'999U, 1'000'000U}) {
    expect_round_trip(Fraction::millionths(n));
  }
  for (const double x : {0.0, 0.1, -1e-300, 1e22, 1.7976931348623157e308, 1.0 / 3}) {
    expect_round_trip(x);
  }
  expect_round_trip(true);
  expect_round_trip(false);
}

TEST(Resolved, EveryTextReadsBackAsText) {
  for (const char* text :
       {"",      " ",           "plain",       "two words", "010",        "1e3",
        "true",  "No",          "y",           "null",      "~",          "Null",
        "NaN",   ".inf",        "-",           "--- x",     "...",        "- a",
        "a: b",  "a:",          "a #b",        "#a",        "[a]",        "{a}",
        "a, b",  "it's",        "'",           "\"",        "\\",         "a\nb\n",
        "\n",    "tab\there",   "%x",          "@x",        "`x",         "&x",
        "*x",    "!x",          "|",           ">",         "?",          "? a",
        ":",     "<<",          "=",           " lead",     "trail ",     "\xC3\xA9t\xC3\xA9",
        "4 KiB", "16x16",       "a/b.c-d_e+f", "0x10",      "2001-01-01", "-5",
        "+x",    "\xE2\x80\xA8"}) {
    expect_round_trip(std::string(text));
    Reading reading("{}\n");
    reading.root.get_or<std::string>("a", text);
    Diagnostics diagnostics;
    const Value value = parse("r.yaml", reading.root.resolved_yaml(), diagnostics).find("a")->value;
    std::string problem;
    if (!value.quoted) {
      EXPECT_EQ(parse_as<double>(value.text, problem), std::nullopt) << text;
      EXPECT_EQ(parse_as<bool>(value.text, problem), std::nullopt) << text;
    }
  }
}

TEST(Resolved, TextsWithControlCharactersAreRefusedBefore) {
  for (const char* text : {"\\x01", "\\x7F", "\\0", "\\x85", "\\N", "\\e[2J"}) {
    Reading reading("a: \"b" + std::string(text) + "\"\n");
    reading.root.get_or<std::string>("a", "");
    EXPECT_EQ(reading.lines(),
              (Lines{"m.yaml:1:4: error: a: a control character; a text may hold none"}))
        << text;
  }
}

TEST(Resolved, EscapesMakeWholeCharacters) {
  Diagnostics diagnostics;
  const Value value = parse("m.yaml", "{a: \"b\\_c\\xA0\\L\"}", diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(value.find("a")->value.text,
            "b\xC2\xA0"
            "c\xC2\xA0\xE2\x80\xA8");
}

TEST(Resolved, RawValuesKeepTheirKind) {
  const std::string text =
      "n: 010\nq: '010'\nlist: [[1, 2], [], {}, {a: {b: [c, [d]]}}, ~, 'x, y']\n"
      "'odd: key': a\n'- x': b\nnothing: ~\n";
  Reading reading(text);
  for (const std::string& key : reading.root.keys()) {
    reading.root.raw(key);
  }
  Reading again(reading.root.resolved_yaml());
  EXPECT_EQ(again.lines(), Lines{});
  EXPECT_TRUE(same(reading.document, again.document)) << reading.root.resolved_yaml();
  EXPECT_TRUE(again.document.find("q")->value.quoted);
  EXPECT_FALSE(again.document.find("n")->value.quoted);
}

}  // namespace
}  // namespace tessera::config::resolved_test
