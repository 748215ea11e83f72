#include "tessera/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tessera/core/range_error.hpp"

namespace tessera::error_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(Errors, ExitCodes) {
  EXPECT_EQ(ConfigError("x").exit_code(), 2);
  EXPECT_EQ(ModelError("x").exit_code(), 3);
  EXPECT_EQ(InternalError("x").exit_code(), 70);
  EXPECT_EQ(IoError("x").exit_code(), 74);
  EXPECT_EQ(StopRequested("x").exit_code(), 75);
}

TEST(Errors, AreCaughtByTheirRoot) {
  EXPECT_THROW(throw ConfigError("x"), Error);
  EXPECT_THROW(throw ModelError("x"), Error);
  EXPECT_THROW(throw InternalError("x"), Error);
  EXPECT_THROW(throw IoError("x"), Error);
  EXPECT_THROW(throw StopRequested("x"), Error);
}

TEST(Diagnostic, ReadsLikeACompilers) {
  EXPECT_EQ((Diagnostic{"machine.yaml", 4, 3, "network.bandwith: unknown key"}).to_string(),
            "machine.yaml:4:3: error: network.bandwith: unknown key");
  EXPECT_EQ((Diagnostic{"machine.yaml", 0, 0, "is empty"}).to_string(),
            "machine.yaml: error: is empty");
  EXPECT_EQ((Diagnostic{"", 0, 0, "no machine"}).to_string(), "error: no machine");
}

TEST(ConfigError, HoldsEveryComplaintOnItsOwnLine) {
  const ConfigError error(
      std::vector<Diagnostic>{{"a.yaml", 1, 2, "one"}, {"b.yaml", 3, 4, "two"}});
  EXPECT_STREQ(error.what(), "a.yaml:1:2: error: one\nb.yaml:3:4: error: two");
  ASSERT_EQ(error.diagnostics().size(), 2U);
  EXPECT_EQ(error.diagnostics()[1].file, "b.yaml");
}

TEST(ModelError, CarriesTimeAndEntity) {
  const ModelError error("deadlock", SimTime::from_ps(1234), EntityId(7));
  EXPECT_STREQ(error.what(), "error: deadlock (at 1234 ps, entity 7)");
  EXPECT_EQ(error.time(), SimTime::from_ps(1234));
  EXPECT_EQ(error.entity(), EntityId(7));
}

TEST(ModelError, NamesWhatIsKnown) {
  EXPECT_STREQ(ModelError("deadlock").what(), "error: deadlock");
  EXPECT_STREQ(ModelError("deadlock", SimTime::from_ps(5)).what(), "error: deadlock (at 5 ps)");
  EXPECT_STREQ(ModelError("deadlock", SimTime::never(), EntityId(0)).what(),
               "error: deadlock (entity 0)");
  EXPECT_TRUE(ModelError("deadlock").time().is_never());
  EXPECT_FALSE(ModelError("deadlock").entity().valid());
}

TEST(ModelError, KeepsItsKindWhereItGetsAPlace) {
  const DurationTooLong duration("too long", 7, 3);
  const ModelError& error = duration;
  try {
    error.throw_placed(SimTime::from_ps(5), EntityId(1));
  } catch (const DurationTooLong& placed) {
    EXPECT_STREQ(placed.what(), "error: too long (at 5 ps, entity 1)");
    EXPECT_EQ(placed.amount(), 7U);
    EXPECT_EQ(placed.rate(), 3U);
  }
  const TimeTooLong sum("too long");
  EXPECT_THROW(sum.throw_placed(SimTime::from_ps(5), EntityId(1)), TimeTooLong);
}

TEST(InternalError, NamesThePlaceInTheSource) {
  const InternalError error("impossible");
  EXPECT_THAT(error.what(), StartsWith("internal error: impossible ("));
  EXPECT_THAT(error.what(), MatchesRegex(".*error_test\\.cpp:[0-9]+\\).*"));
  EXPECT_THAT(error.what(), EndsWith("please report it"));
}

TEST(Ensure, ThrowsWithTheCallersPlaceOnlyWhenFalse) {
  EXPECT_NO_THROW(ensure(true, "fine"));
  try {
    ensure(false, "broken");
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("broken"));
    EXPECT_THAT(error.what(), HasSubstr("error_test.cpp"));
  }
}

TEST(Id, DefaultsToNoneAndComparesByValue) {
  EXPECT_FALSE(EntityId().valid());
  EXPECT_EQ(EntityId(), EntityId::none());
  EXPECT_TRUE(EntityId(0).valid());
  EXPECT_LT(EntityId(1), EntityId(2));
  EXPECT_EQ(std::hash<EntityId>()(EntityId(3)), std::hash<EntityId>()(EntityId(3)));
}

}  // namespace
}  // namespace tessera::error_test
