#include "tessera/core/portable_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace tessera::portable_math_test {
namespace {

TEST(PortableMath, IsThatOfTheMathematicsLibrary) {
  for (double x = -690; x < 690; x += 0.37) {
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-12) << x;
  }
  for (double x = 1e-9; x < 1e9; x *= 1.37) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * (1 + std::abs(std::log(x)))) << x;
  }
  for (double x = -3; x < 3; x += 0.0137) {
    EXPECT_NEAR(portable_cosine_of_turns(x), std::cos(2 * std::numbers::pi * x), 1e-13) << x;
  }
}

TEST(PortableMath, HasEndsWhereExponentialsLeaveTheNumbers) {
  EXPECT_EQ(portable_exp(-1e6), 0);
  EXPECT_EQ(portable_exp(1e6), portable_exp(700));
  EXPECT_EQ(portable_exp(0), 1);
}

}  // namespace
}  // namespace tessera::portable_math_test
