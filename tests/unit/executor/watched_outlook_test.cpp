// What is said of an entity that waits for a message, of which more becomes known on its way.
#include "watched_outlook.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace tessera::executor::watched_outlook_test {
namespace {

SimTime ns(std::int64_t count) {
  return SimTime::from_ps(count * 1000);
}

// Entity 0 sends to rank 1 a nanosecond after its message from entity 1 has come.
class Waiting final : public WatchedOutlook {
 public:
  static constexpr std::array<EntityId, 2> here{EntityId(0), EntityId(1)};
  static constexpr std::array<std::uint32_t, 3> owners{0, 0, 1};

  explicit Waiting(const OutlookSetup& setup) : WatchedOutlook(setup, here, owners.size()) {
    set_horizon(ns(4000));
    watch(0);
    begin(0);
  }
  // When it is said to send, at a moment whose next event is at `next`.
  SimTime said(SimTime next, SimTime wanted = SimTime::zero()) {
    return outlook_of(1, {next, next, wanted, ns(1)}).at;
  }
  void tell(std::uint32_t index) override {
    ++looks;
    const SimTime earliest = earliest_under_way(index, [](const UnderWay&) { return true; });
    add(1, {Resumption::Kind::at, earliest}, ns(1));
  }
  int looks = 0;
};

class WatchedOutlookTest : public ::testing::Test {
 protected:
  WatchedOutlookTest() {
    setup.regions = &regions;
    setup.least_time = [](EntityId, EntityId, Bytes) { return ns(100); };
    setup.exit_of = [](EntityId, EntityId) { return pdes::Exit(); };
  }
  const pdes::RegionView regions{Waiting::owners, 0};
  OutlookSetup setup;
  const WatchedOutlook::UnderWay sent{EntityId(1), 7, 1, ns(1000)};
  static WatchedOutlook::UnderWay arriving(std::int64_t at) { return {EntityId(1), 7, 1, ns(at)}; }
};

// A rank that does not wait, and so asks for nothing, is told what is known of the time until it is
// told again.
TEST_F(WatchedOutlookTest, WhatIsLearntIsToldAsFarAheadAsThisRankComes) {
  Waiting outlook(setup);
  ASSERT_TRUE(outlook.send(EntityId(1), EntityId(0), Bytes(8), sent));
  EXPECT_EQ(outlook.said(ns(1000)), ns(1101));
  outlook.follow(EntityId(0), arriving(1500));
  EXPECT_EQ(outlook.said(ns(1030)), ns(1501)) << "71 ns ahead, at 30 ns from one look to the next";
}

TEST_F(WatchedOutlookTest, WhatIsFurtherAheadIsLeftAsItWas) {
  Waiting outlook(setup);
  ASSERT_TRUE(outlook.send(EntityId(1), EntityId(0), Bytes(8), sent));
  EXPECT_EQ(outlook.said(ns(1000)), ns(1101));
  outlook.follow(EntityId(0), arriving(1500));
  EXPECT_EQ(outlook.said(ns(1010)), ns(1101)) << "91 ns ahead, at 10 ns from one look to the next";
  EXPECT_EQ(outlook.said(ns(1010), ns(1200)), ns(1501)) << "somebody waits for more";
}

TEST_F(WatchedOutlookTest, WhatIsKnownAlreadyIsNotLookedAtAgain) {
  Waiting outlook(setup);
  ASSERT_TRUE(outlook.send(EntityId(1), EntityId(0), Bytes(8), sent));
  EXPECT_EQ(outlook.said(ns(1000)), ns(1101));
  const int looks = outlook.looks;
  EXPECT_EQ(outlook.said(ns(1090)), ns(1101));
  EXPECT_EQ(outlook.looks, looks);
}

}  // namespace
}  // namespace tessera::executor::watched_outlook_test
