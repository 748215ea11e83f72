#include <gtest/gtest.h>

#include "reading.hpp"

namespace tessera::config::section_test {
namespace {

TEST(SectionGet, ReadsEveryType) {
  Reading reading(
      "b: true\ni: 010\nd: 0.5\ns: text\nbytes: 4 KiB\nrate: 400 Gb/s\ntime: 0.3 ns\n"
      "clock: 1.1 GHz\nflops: 368 TOPS\nshare: 85 %\n");
  Section& root = reading.root;
  EXPECT_EQ(root.get<bool>("b"), true);
  EXPECT_EQ(root.get<std::int64_t>("i"), 10);
  EXPECT_EQ(root.get<double>("d"), 0.5);
  EXPECT_EQ(root.get<std::string>("s"), "text");
  EXPECT_EQ(root.get<Bytes>("bytes"), Bytes(4096));
  EXPECT_EQ(root.get<Bandwidth>("rate"), Bandwidth::bytes_per_second(50'000'000'000));
  EXPECT_EQ(root.get<SimTime>("time"), SimTime::from_ps(300));
  EXPECT_EQ(root.get<Clock>("clock"), Clock::hertz(1'100'000'000));
  EXPECT_EQ(root.get<FlopRate>("flops"), FlopRate::flops_per_second(368'000'000'000'000));
  EXPECT_EQ(root.get<Fraction>("share"), Fraction::millionths(850'000));
  root.finish();
  EXPECT_EQ(reading.lines(), Lines{});
}

TEST(SectionGet, AMissingKeyIsReportedAtItsSection) {
  Reading reading("network:\n  kind: packet\n");
  EXPECT_EQ(reading.root.get<std::int64_t>("width"), 0);
  Section network = reading.root.section("network");
  network.get<Bandwidth>("bandwidth");
  network.get<bool>("adaptive");
  network.section("router").get<SimTime>("latency");
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:1: error: width: missing; give a whole number, e.g. 4",
                   "m.yaml:1:1: error: network.bandwidth: missing; give a bandwidth, e.g. 256 GB/s",
                   "m.yaml:1:1: error: network.adaptive: missing; give true or false",
                   "m.yaml:1:1: error: network.router.latency: missing; give a time, e.g. 10 ns"}));
}

TEST(SectionGet, ThePlaceOfASectionIsItsKey) {
  Reading reading("# comment\nouter:\n\n  inner:\n    x: 1\n");
  Section inner = reading.root.section("outer").section("inner");
  inner.get<std::string>("name");
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:4:3: error: outer.inner.name: missing; give a text, e.g. name"}));
  EXPECT_EQ(inner.path(), "outer.inner");
  EXPECT_EQ(inner.place_of("x").line, 5);
  EXPECT_EQ(inner.place_of("absent").line, 4);
}

TEST(SectionGet, AValueOfAnotherKind) {
  const std::string expected = "m.yaml:1:4: error: a: expected a single value; got ";
  EXPECT_EQ(complaints_of_a<std::int64_t>("a: [1]"), (Lines{expected + "a list"}));
  EXPECT_EQ(complaints_of_a<std::string>("a: {b: 1}"), (Lines{expected + "a mapping"}));
  EXPECT_EQ(complaints_of_a<std::string>("a:"), (Lines{"m.yaml:1:1: error: a: missing value"}));
  EXPECT_EQ(complaints_of_a<bool>("a: ~"), (Lines{"m.yaml:1:1: error: a: missing value"}));
  EXPECT_EQ(complaints_of_a<std::int64_t>("a: abc"),
            (Lines{"m.yaml:1:4: error: a: expected a whole number; got 'abc'"}));
  EXPECT_EQ(complaints_of_a<SimTime>("a: 12"),
            (Lines{"m.yaml:1:4: error: a: '12' has no unit; write e.g. '12 ns'"}));
}

TEST(SectionGet, DefaultsAndOptions) {
  Reading reading("given: 3\nbad: x\n");
  Section& root = reading.root;
  EXPECT_EQ(root.get_or<std::int64_t>("given", 7), 3);
  EXPECT_EQ(root.get_or<std::int64_t>("absent", 7), 7);
  EXPECT_EQ(root.get_or<std::int64_t>("bad", 7), 7);
  EXPECT_EQ(root.get_or<std::int64_t>("given", 7, at_least<std::int64_t>(4)), 7);
  EXPECT_EQ(root.get_optional<std::int64_t>("given"), 3);
  EXPECT_EQ(root.get_optional<std::int64_t>("absent"), std::nullopt);
  EXPECT_EQ(root.get_optional<std::int64_t>("bad"), std::nullopt);
  EXPECT_TRUE(root.has("given"));
  EXPECT_FALSE(root.has("absent"));
  EXPECT_EQ(reading.lines(), (Lines{"m.yaml:2:6: error: bad: expected a whole number; got 'x'",
                                    "m.yaml:1:8: error: given: must be at least 4; got '3'",
                                    "m.yaml:2:6: error: bad: expected a whole number; got 'x'"}));
}

TEST(SectionName, SuggestsTheNearestAndListsAll) {
  const std::vector<std::string> names{"analytical", "packet", "flit"};
  Reading reading("good: flit\nbad: pakcet\nfar: something\nlist: [1]\n");
  Section& root = reading.root;
  EXPECT_EQ(root.get_name("good", names), "flit");
  EXPECT_EQ(root.get_name("bad", names, "flit"), "flit");
  EXPECT_EQ(root.get_name("far", names), "");
  EXPECT_EQ(root.get_name("list", names), "");
  EXPECT_EQ(root.get_name("absent", names, "packet"), "packet");
  EXPECT_EQ(root.get_name("needed", names), "");
  EXPECT_EQ(
      reading.lines(),
      (Lines{"m.yaml:2:6: error: bad: unknown name 'pakcet'; did you mean 'packet'? known: "
             "analytical, packet, flit",
             "m.yaml:3:6: error: far: unknown name 'something'; known: analytical, packet, flit",
             "m.yaml:4:7: error: list: expected a single value; got a list",
             "m.yaml:1:1: error: needed: missing; give one of: analytical, packet, flit"}));
}

TEST(SectionFinish, UnknownKeysWithTheNearestKnownOne) {
  Reading reading("bandwith: 1 GB/s\nzzzzzz: 1\nlatency: 1 ns\n");
  reading.root.get_optional<Bandwidth>("bandwidth");
  reading.root.get<SimTime>("latency");
  reading.root.finish();
  reading.root.finish();
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:1: error: bandwith: unknown key; did you mean 'bandwidth'?",
                   "m.yaml:2:1: error: zzzzzz: unknown key; known keys: bandwidth, latency"}));
}

TEST(SectionFinish, GoesThroughAllSectionsMadeFromThisOne) {
  Reading reading(
      "network:\n"
      "  bandwith: 1 GB/s\n"
      "  router: {x: 1}\n"
      "links:\n"
      "  - {rate: 1 GB/s}\n"
      "  - {rat: 1 GB/s}\n");
  Section network = reading.root.section("network");
  network.get_optional<Bandwidth>("bandwidth");
  network.section("router");
  for (Section& link : reading.root.sections("links")) {
    link.get_optional<Bandwidth>("rate");
  }
  reading.root.finish();
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:2:3: error: network.bandwith: unknown key; did you mean 'bandwidth'?",
                   "m.yaml:3:12: error: network.router.x: unknown key; no keys are known here",
                   "m.yaml:6:6: error: links[1].rat: unknown key; did you mean 'rate'?"}));
}

TEST(SectionFinish, CopiesAndSectionsAskedForTwiceAreOne) {
  Reading reading("s: {a: 1, b: 2}\nl: [{a: 1}]\nr: {anything: 1}\n");
  Section copy = reading.root;
  copy.section("s").get<std::int64_t>("a");
  reading.root.section("s").get<std::int64_t>("b");
  reading.root.sections("l").at(0).get<std::int64_t>("a");
  EXPECT_EQ(copy.sections("l").size(), 1U);
  EXPECT_EQ(copy.raw("r").kind, Value::Kind::mapping);
  reading.root.finish();
  EXPECT_EQ(reading.lines(), Lines{});
}

TEST(SectionChild, AScalarInPlaceOfAMappingIsOneComplaint) {
  Reading reading("network: packet\n");
  Section network = reading.root.section("network");
  EXPECT_FALSE(network.is_mapping());
  network.get<Bandwidth>("bandwidth");
  network.section("router").get<SimTime>("latency");
  network.get_name("kind", {"packet"});
  EXPECT_TRUE(network.keys().empty());
  reading.root.section("network").finish();
  reading.root.finish();
  EXPECT_EQ(reading.lines(),
            (Lines{"m.yaml:1:10: error: network: expected a mapping; got a single value"}));
}

TEST(SectionChild, AnEmptyOrAbsentOneIsEmpty) {
  Reading reading("empty:\n");
  for (const char* key : {"empty", "absent"}) {
    Section section = reading.root.section(key);
    EXPECT_FALSE(section.is_mapping());
    EXPECT_EQ(section.get_or<std::int64_t>("x", 4), 4);
  }
  EXPECT_EQ(reading.lines(), Lines{});
}

TEST(SectionRoot, ADocumentThatIsNoMapping) {
  EXPECT_EQ(Reading("[1, 2]\n").lines(),
            (Lines{"m.yaml:1:1: error: expected a mapping; got a list"}));
  EXPECT_EQ(Reading("").lines(), Lines{});
}

TEST(SectionRoot, MayStandUnderAPath) {
  Diagnostics diagnostics;
  const Value document = parse("m.yaml", "\nmachine:\n  x: y\n", diagnostics);
  Section machine(document.find("machine")->value, "machine", diagnostics);
  machine.get<std::int64_t>("x");
  machine.get<std::int64_t>("y");
  EXPECT_EQ(lines_of(diagnostics),
            (Lines{"m.yaml:3:6: error: machine.x: expected a whole number; got 'y'",
                   "m.yaml:3:3: error: machine.y: missing; give a whole number, e.g. 4"}));
}

TEST(SectionError, StandsAtTheKeyOrTheSection) {
  Reading reading("a: 1\nsub:\n  x: 1\n");
  reading.root.error("a", "is odd");
  Section sub = reading.root.section("sub");
  sub.error("x", "is wrong");
  sub.error("y", "is needed here");
  sub.error("", "is strange");
  EXPECT_EQ(
      reading.lines(),
      (Lines{"m.yaml:1:1: error: a: is odd", "m.yaml:3:3: error: sub.x: is wrong",
             "m.yaml:2:1: error: sub.y: is needed here", "m.yaml:2:1: error: sub: is strange"}));
}

TEST(SectionKeys, InTheOrderOfTheFile) {
  Reading reading("z: 1\na: 2\nm: 3\n");
  EXPECT_EQ(reading.root.keys(), (std::vector<std::string>{"z", "a", "m"}));
}

TEST(SectionRaw, AnAbsentOneIsNull) {
  Reading reading("a: [1, {b: 2}]\n");
  EXPECT_EQ(reading.root.raw("x").kind, Value::Kind::null);
  EXPECT_EQ(reading.root.raw("x").place.file, "m.yaml");
  EXPECT_EQ(reading.root.raw("a").items.size(), 2U);
}

TEST(Section, NotesKeysOfPartsThatAreNotChosen) {
  Reading reading("{packet_size: 4 KiB, tick: 1 ns, shared: 3}");
  const auto part = [](const char* name, std::vector<const char*> keys) {
    PartInfo info{name, "", {}};
    for (const char* key : keys) {
      info.parameters.push_back({key, "", "", ""});
    }
    return info;
  };
  reading.root.leave_keys_of_others(
      {part("packet", {"packet_size", "shared"}), part("analytical", {"tick", "shared"})},
      "analytical");
  EXPECT_EQ(reading.diagnostics.notes(), Lines{"packet_size has no effect with analytical"});
  EXPECT_TRUE(reading.diagnostics.empty());
}

}  // namespace
}  // namespace tessera::config::section_test
