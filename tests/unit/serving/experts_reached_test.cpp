// How many experts the tokens of a step reach.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "layers/shapes.hpp"
#include "tessera/core/digest.hpp"

namespace tessera::serving::experts_reached_test {
namespace {

TEST(ExpertsReached, AreThoseOfOneTokenAndAllOfMany) {
  EXPECT_EQ(experts_reached(128, 8, 0), 0U);
  EXPECT_EQ(experts_reached(128, 8, 1), 8U);
  EXPECT_EQ(experts_reached(128, 8, 2), 16U);  // 15.5
  EXPECT_EQ(experts_reached(128, 8, 100'000), 128U);
  EXPECT_EQ(experts_reached(8, 8, 3), 8U);
}

// 128 (1 - (15/16)^16) = 82.4; 256 (1 - (31/32)^64) = 222.4
TEST(ExpertsReached, AreFewerThanChoices) {
  EXPECT_EQ(experts_reached(128, 8, 16), 82U);
  EXPECT_EQ(experts_reached(256, 8, 64), 222U);
}

// Against drawn choices of different experts: the mean of many draws.
TEST(ExpertsReached, AreWhatIndependentChoicesReach) {
  constexpr std::uint64_t count = 64;
  constexpr std::uint64_t draws = 2000;
  for (const std::uint64_t tokens : {2, 5, 12, 40}) {
    std::uint64_t sum = 0;
    std::uint64_t seed = 7;
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      std::set<std::uint64_t> reached;
      for (std::uint64_t token = 0; token < tokens; ++token) {
        std::set<std::uint64_t> chosen;
        while (chosen.size() < 6) {
          chosen.insert(mix64(++seed) % count);
        }
        reached.insert(chosen.begin(), chosen.end());
      }
      sum += reached.size();
    }
    EXPECT_NEAR(static_cast<double>(experts_reached(count, 6, tokens)),
                static_cast<double>(sum) / draws, 0.65)
        << tokens << " tokens";
  }
}

}  // namespace
}  // namespace tessera::serving::experts_reached_test
