// What estimates of passes lose to collectives in the background.
#include "search/slowing.hpp"

#include <gtest/gtest.h>

namespace tessera::explore::slowing_test {
namespace {

// 100 ps of computing that would take 25 more beside a collective for all of it.
TEST(Slowing, TakesUnitsWhileACollectiveGoesOn) {
  const Slowing units{25, 0, 0, 1};
  EXPECT_DOUBLE_EQ(time_lost(units, 100, 0), 0);
  EXPECT_DOUBLE_EQ(time_lost(units, 100, 50), 10) << "50 of 125 ps";
  EXPECT_DOUBLE_EQ(time_lost(units, 100, 1000), 25);
}

// Ten products of 10 ps, and nothing else.
TEST(Slowing, HasProductsWaitForTheUnitsThatACollectiveHas) {
  const auto lost = [](double beside, double collectives) {
    return time_lost({0, 100, 10, collectives}, 100, beside);
  };
  EXPECT_DOUBLE_EQ(lost(20, 4), 20) << "each is waited for by one product";
  EXPECT_DOUBLE_EQ(lost(30, 1), 20) << "20 + 20: two products, the second waits to its end";
  EXPECT_DOUBLE_EQ(lost(1000, 4), 100);
  EXPECT_DOUBLE_EQ(time_lost({}, 100, 50), 0) << "a device that nothing slows";
}

}  // namespace
}  // namespace tessera::explore::slowing_test
