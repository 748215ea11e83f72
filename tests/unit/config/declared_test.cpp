// Complaints about unknown keys know all keys that are declared for their section.
#include <gtest/gtest.h>

#include "reading.hpp"
#include "tessera/core/section_info.hpp"

namespace tessera::config::declared_test {
namespace {

SectionInfo links() {
  SectionInfo section = section_of_parts(
      "links", "", "kind", "plain",
      {{"plain", "", {{"rate", "", "", ""}}}, {"lossy", "", {{"loss", "", "", ""}}}});
  section.shape = SectionInfo::Shape::list;
  return section;
}

SectionInfo file() {
  SectionInfo section = section_of_keys("a file", "",
                                        {{"title", "", "", ""},
                                         {"tier.swap", "", "", ""},
                                         {"users[].age", "", "", ""},
                                         {"costs.NAME.euros", "", "", ""}});
  SectionInfo types = section_of_keys("types", "", {{"colour", "", "", ""}});
  types.shape = SectionInfo::Shape::map;
  section.sections = {links(), types};
  return section;
}

std::string complaint_of(const std::string& text, void (*read)(Section&)) {
  Reading reading(text);
  reading.root.declare(file);
  read(reading.root);
  reading.root.finish();
  const Lines lines = reading.lines();
  return lines.size() == 1 ? lines.front().substr(lines.front().find("unknown key")) : "";
}

void nothing(Section& /*root*/) {}
void read_links(Section& root) {
  root.sections("links");
}

TEST(Declared, KeysThatWereNotReadAreKnown) {
  EXPECT_EQ(complaint_of("x: 1\n", nothing),
            "unknown key; known keys: title, tier, users, costs, links, types");
  EXPECT_EQ(complaint_of("titel: 1\n", nothing), "unknown key; did you mean 'title'?");
}

TEST(Declared, KeysThatWereReadComeFirst) {
  EXPECT_EQ(complaint_of("x: 1\n",
                         [](Section& root) {
                           root.raw("own");
                           root.raw("links");
                         }),
            "unknown key; known keys: own, links, title, tier, users, costs, types");
}

TEST(Declared, SectionsOfDottedNames) {
  EXPECT_EQ(complaint_of("tier: {x: 1}\n", [](Section& root) { root.section("tier"); }),
            "unknown key; known keys: swap");
  EXPECT_EQ(complaint_of("users: [{x: 1}]\n", [](Section& root) { root.sections("users"); }),
            "unknown key; known keys: age");
  EXPECT_EQ(complaint_of("costs: {rent: {x: 1}}\n",
                         [](Section& root) { root.section("costs").section("rent"); }),
            "unknown key; known keys: euros");
}

TEST(Declared, NamesOfTheUsersOwnAreNotOffered) {
  EXPECT_EQ(complaint_of("types: {coloured: 1}\n", [](Section& root) { root.section("types"); }),
            "unknown key; no keys are known here");
  EXPECT_EQ(complaint_of("types: {fine: {colours: 1}}\n",
                         [](Section& root) { root.section("types").section("fine"); }),
            "unknown key; did you mean 'colour'?");
}

TEST(Declared, KeysOfTheChoiceThatIsMade) {
  EXPECT_EQ(complaint_of("links: [{x: 1}]\n", read_links), "unknown key; known keys: kind, rate");
  EXPECT_EQ(complaint_of("links: [{kind: plain, x: 1}]\n",
                         [](Section& root) { root.sections("links")[0].raw("kind"); }),
            "unknown key; known keys: kind, rate");
  EXPECT_EQ(complaint_of("links: [{kind: lossy, rate: 1}]\n",
                         [](Section& root) { root.sections("links")[0].raw("kind"); }),
            "unknown key; known keys: kind, loss");
}

TEST(Declared, AKeyThatIsDeclaredAndNotReadIsNotOfferedForItself) {
  EXPECT_EQ(complaint_of("title: 1\n", [](Section& root) { root.raw("links"); }),
            "unknown key; known keys: links");
}

}  // namespace
}  // namespace tessera::config::declared_test
