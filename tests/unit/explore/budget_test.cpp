#include "search/budget.hpp"

#include <gtest/gtest.h>

namespace tessera::explore::budget_test {
namespace {

TEST(Budget, IsWhatWasAskedFor) {
  Budget budget(3);
  EXPECT_EQ(budget.left(), 3U);
  for (int i = 0; i < 3; ++i) {
    budget.spend(1e9);
  }
  EXPECT_EQ(budget.done(), 3U);
  EXPECT_EQ(budget.left(), 0U);
}

TEST(Budget, IsSoManyHoweverLongTheyTake) {
  Budget budget(0);
  for (int i = 0; i < 63; ++i) {
    budget.spend(1e9);
  }
  EXPECT_FALSE(budget.is_small());
  EXPECT_EQ(budget.left(), 1U);
  budget.spend(1e9);
  EXPECT_EQ(budget.left(), 0U);
}

// Simulations of few events take the time of their plans, which were thousands.
TEST(Budget, EndsWhereSimulationsHaveHardlyAnEvent) {
  Budget budget(0);
  std::size_t small = 0;
  while (budget.left() > 0) {
    small += budget.is_small() ? 1 : 0;
    budget.spend(100);
  }
  EXPECT_GT(small, 256U);
  EXPECT_GT(budget.done(), small);
  EXPECT_LE(budget.done(), 1024U);
}

}  // namespace
}  // namespace tessera::explore::budget_test
