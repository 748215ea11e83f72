#include "tessera/core/linked_pool.hpp"

#include <gtest/gtest.h>

namespace tessera::linked_pool_test {
namespace {

struct Item {
  int value;
  std::uint32_t next;
};
using Pool = LinkedPool<Item>;

TEST(LinkedPool, UsesPlacesAgainTheLastFreeFirst) {
  Pool pool;
  EXPECT_EQ(pool.keep({10, Pool::none}), 0);
  EXPECT_EQ(pool.keep({11, 0}), 1);
  EXPECT_EQ(pool.keep({12, 1}), 2);
  const Item taken = pool.take(1);
  EXPECT_EQ(taken.value, 11);
  EXPECT_EQ(taken.next, 0);
  EXPECT_EQ(pool.take(0).value, 10);
  EXPECT_EQ(pool.keep({13, 2}), 0);
  EXPECT_EQ(pool.keep({14, 0}), 1);
  EXPECT_EQ(pool.keep({15, 1}), 3);
  EXPECT_EQ(pool[0].value, 13);
  EXPECT_EQ(pool[2].next, 1);
}

TEST(LinkedPool, GoesOnAsItWas) {
  Pool pool;
  pool.keep({10, Pool::none});
  pool.keep({11, Pool::none});
  pool.take(0);
  Pool again(pool.items(), pool.free());
  EXPECT_EQ(again[1].value, 11);
  EXPECT_EQ(again.keep({12, Pool::none}), 0);
  EXPECT_EQ(again.keep({13, Pool::none}), 2);
}

}  // namespace
}  // namespace tessera::linked_pool_test
