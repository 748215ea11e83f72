#include "tessera/core/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tessera::registry_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Maker = std::function<int(int)>;

class TwoParts : public Registry<Maker> {
 public:
  TwoParts() : Registry("network model") {
    add({"packet", "per-hop links", {{"latency", "ps", "10 ns", "of a hop"}}},
        [](int x) { return x + 1; });
    add({"flit", "wormhole routers", {}}, [](int x) { return x + 2; });
  }
};

TEST(Registry, MakesPartsByName) {
  const TwoParts registry;
  EXPECT_EQ(registry.at("packet")(1), 2);
  EXPECT_EQ(registry.at("flit")(1), 3);
  EXPECT_TRUE(registry.contains("flit"));
  EXPECT_FALSE(registry.contains("fli"));
  EXPECT_EQ(registry.kind(), "network model");
}

TEST(Registry, ListsPartsInAlphabeticalOrder) {
  const TwoParts registry;
  EXPECT_THAT(registry.names(), ElementsAre("flit", "packet"));
  ASSERT_EQ(registry.infos().size(), 2U);
  EXPECT_EQ(registry.infos()[1].help, "per-hop links");
  ASSERT_EQ(registry.infos()[1].parameters.size(), 1U);
  EXPECT_EQ(registry.infos()[1].parameters[0].default_value, "10 ns");
}

TEST(Registry, AnUnknownNameIsTheUsersError) {
  const TwoParts registry;
  try {
    registry.at("packets");
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "error: unknown network model 'packets'; did you mean 'packet'? "
                 "known: flit, packet");
  }
  try {
    registry.at("analytical");
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "error: unknown network model 'analytical'; known: flit, packet");
  }
}

TEST(Registry, ANameTakenTwiceIsOurDefect) {
  TwoParts registry;
  try {
    registry.add({"flit", "another", {}}, [](int x) { return x; });
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("two network model parts are called 'flit'"));
  }
  EXPECT_EQ(registry.at("flit")(1), 3) << "the first stays";
}

TEST(Registration, AddsOnConstruction) {
  Registry<Maker> registry("part");
  const Registration registration(registry, {"one", "", {}}, [](int x) { return x; });
  EXPECT_THAT(registry.names(), ElementsAre("one"));
}

}  // namespace
}  // namespace tessera::registry_test
