#include "tessera/serving/cache.hpp"

#include <gtest/gtest.h>

namespace tessera::serving {
namespace {

TEST(Cache, GivesNoMoreBlocksThanThereAre) {
  Cache cache(16, 10);
  EXPECT_EQ(cache.blocks_of(1), 1U);
  EXPECT_EQ(cache.blocks_of(16), 1U);
  EXPECT_EQ(cache.blocks_of(17), 2U);
  EXPECT_TRUE(cache.take(7));
  EXPECT_FALSE(cache.take(4));
  EXPECT_EQ(cache.taken(), 7U);
  EXPECT_TRUE(cache.take(3));
  cache.give_back(5);
  EXPECT_TRUE(cache.take(5));
  EXPECT_EQ(cache.most_taken(), 10U);
}

TEST(Cache, KeepsPrefixesUntilTheirRoomIsNeeded) {
  Cache cache(16, 10);
  ASSERT_TRUE(cache.take(4));
  EXPECT_EQ(cache.use_prefix(7, 40), 0U);   // not there
  EXPECT_EQ(cache.keep_prefix(7, 40), 2U);  // whole blocks: 32 tokens
  EXPECT_EQ(cache.keep_prefix(7, 40), 0U);  // there already
  EXPECT_EQ(cache.use_prefix(7, 40), 32U);
  cache.let_go(7);
  cache.give_back(2);  // the sequence's own part of the four
  EXPECT_EQ(cache.taken(), 2U);
  EXPECT_FALSE(cache.take(9));  // the first one still uses it
  cache.let_go(7);
  EXPECT_TRUE(cache.take(9));  // given up
  EXPECT_EQ(cache.taken(), 9U);
  EXPECT_EQ(cache.use_prefix(7, 40), 0U);
}

TEST(Cache, GivesUpThePrefixThatWasUsedLongestAgo) {
  Cache cache(1, 4);
  ASSERT_TRUE(cache.take(4));
  ASSERT_EQ(cache.keep_prefix(1, 2), 2U);
  ASSERT_EQ(cache.keep_prefix(2, 2), 2U);
  cache.let_go(1);
  cache.let_go(2);
  EXPECT_EQ(cache.use_prefix(1, 2), 2U);
  cache.let_go(1);
  EXPECT_TRUE(cache.take(1));
  EXPECT_EQ(cache.use_prefix(2, 2), 0U);
  EXPECT_EQ(cache.use_prefix(1, 2), 2U);
}

TEST(Cache, IsNotUsedByWhatHasTooLittleOfAPrefix) {
  Cache cache(16, 2);
  ASSERT_TRUE(cache.take(2));
  ASSERT_EQ(cache.keep_prefix(7, 32), 2U);
  cache.let_go(7);
  EXPECT_EQ(cache.use_prefix(7, 15), 0U);
  EXPECT_TRUE(cache.take(2));
}

TEST(Cache, IsTheSameAfterACheckpoint) {
  Cache cache(16, 10);
  ASSERT_TRUE(cache.take(4));
  cache.keep_prefix(3, 32);
  cache.let_go(3);
  pdes::StateWriter writer;
  cache.save(writer);
  Cache again(16, 10);
  pdes::StateReader reader(writer.bytes());
  again.restore(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(again.taken(), 4U);
  EXPECT_EQ(again.use_prefix(3, 32), 32U);
}

}  // namespace
}  // namespace tessera::serving
