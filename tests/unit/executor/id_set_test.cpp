#include "id_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace tessera::executor::id_set_test {
namespace {

using ::testing::ElementsAre;

TEST(IdSet, JoinsNeighbours) {
  IdSet ids;
  EXPECT_TRUE(ids.insert(4));
  EXPECT_TRUE(ids.insert(6));
  EXPECT_TRUE(ids.insert(9));
  EXPECT_TRUE(ids.insert(5));
  EXPECT_TRUE(ids.insert(3));
  EXPECT_THAT(ids.intervals(), ElementsAre(IdSet::Interval{3, 6}, IdSet::Interval{9, 9}));
  EXPECT_FALSE(ids.insert(5));
  EXPECT_TRUE(ids.insert(0));
  EXPECT_TRUE(ids.insert(0xFFFFFFFFFFFFFFFFU));
  EXPECT_FALSE(ids.insert(0xFFFFFFFFFFFFFFFFU));
  EXPECT_TRUE(ids.contains(0xFFFFFFFFFFFFFFFFU));
}

TEST(IdSet, HoldsWhatASetHolds) {
  IdSet ids;
  std::set<std::uint64_t> truth;
  std::uint64_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t id = state >> 54U;
    EXPECT_EQ(ids.insert(id), truth.insert(id).second);
  }
  for (std::uint64_t id = 0; id < 1100; ++id) {
    EXPECT_EQ(ids.contains(id), truth.count(id) == 1) << id;
  }
}

}  // namespace
}  // namespace tessera::executor::id_set_test
