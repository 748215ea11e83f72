#include "cuts/region_replay.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::sim::region_replay_test {
namespace {

Replay replay_of(double wall_s, std::uint64_t waits) {
  Replay replay;
  replay.wall_s = wall_s;
  replay.waits = waits;
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

}  // namespace
}  // namespace tessera::sim::region_replay_test
