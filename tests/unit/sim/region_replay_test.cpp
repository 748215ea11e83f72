#include "cuts/region_replay.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::sim::region_replay_test {
namespace {

Replay replay_of(double wall_s, std::uint64_t waits, std::uint64_t messages = 0) {
  Replay replay;
  replay.wall_s = wall_s;
  replay.waits = waits;
  replay.messages = messages;
  return replay;
}

// Cuts of `dojo_tile_gpt2_small` on two ranks: the third takes 0.82 s there, the second 0.88.
TEST(RegionReplay, OfCutsThatAreAlikeTheOneThatWaitsLeastIsTheBest) {
  EXPECT_EQ(best_of(std::vector{replay_of(1.10, 44'506), replay_of(0.616, 8116),
                                replay_of(0.622, 5700), replay_of(0.7, 10)}),
            2U);
  EXPECT_EQ(best_of(std::vector{replay_of(0.63, 10), replay_of(0.616, 8116)}), 1U);
  EXPECT_EQ(best_of(std::vector{replay_of(0.5, 7), replay_of(0.5, 7)}), 0U);
}

// Cuts of `cluster_16384` on two ranks, and of `wafer_training` on 256.
TEST(RegionReplay, OfCutsThatAreAlmostAlikeOneThatFarFewerEventsCrossIsTheBest) {
  EXPECT_EQ(
      best_of(std::vector{replay_of(47.4, 63'164, 1'568'948), replay_of(49.7, 81'547, 848'800),
                          replay_of(50.2, 59'102, 5'789'056)}),
      1U);
  EXPECT_EQ(best_of(std::vector{replay_of(10.0, 136'477, 102'721'130),
                                replay_of(10.1, 103'078, 57'424'474),
                                replay_of(10.2, 139'898, 55'018'076)}),
            1U);
  EXPECT_EQ(best_of(std::vector{replay_of(10.0, 5, 100), replay_of(10.6, 1, 1)}), 0U);
}

// One of a hundred that go at the same time is waited for, and all take processor time.
TEST(RegionReplay, EventsThatCrossTakeEachSideTheirTime) {
  ReplayCosts costs;
  costs.event_s = 1e-6;
  costs.message_s = 0;
  costs.side_s = 1e-3;
  costs.burst = 0;
  const auto wall_of = [&](double events) {
    RegionReplay replay(2, costs);
    replay.add_work(0, 0, 1000, 1000);
    replay.add_work(1, 0, 2000, 2000);
    replay.add_message(0, 1, 500, 600, 1, 0, events);
    return replay.run();
  };
  EXPECT_NEAR(wall_of(0).wall_s, 2e-3, 1e-9);
  EXPECT_NEAR(wall_of(1).wall_s, 3.9e-3, 1e-9) << "sent at 1.5 ms, taken until 2.5, 1.4 of work";
  EXPECT_NEAR(wall_of(100).wall_s, 0.2019, 1e-9);
  EXPECT_EQ(wall_of(100).messages, 100U);
  EXPECT_EQ(wall_of(100).waits, 1U);
}

}  // namespace
}  // namespace tessera::sim::region_replay_test
