#include "tessera/serving/cache.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera::serving::cache_test {
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
  EXPECT_EQ(cache.use_prefix(PrefixKey(7), 40), 0U);   // not there
  EXPECT_EQ(cache.keep_prefix(PrefixKey(7), 40), 2U);  // whole blocks: 32 tokens
  EXPECT_EQ(cache.keep_prefix(PrefixKey(7), 40), 0U);  // there already
  EXPECT_EQ(cache.use_prefix(PrefixKey(7), 40), 32U);
  cache.let_go(PrefixKey(7));
  cache.give_back(2);  // the sequence's own part of the four
  EXPECT_EQ(cache.taken(), 2U);
  EXPECT_FALSE(cache.take(9));  // the first one still uses it
  cache.let_go(PrefixKey(7));
  EXPECT_TRUE(cache.take(9));  // given up
  EXPECT_EQ(cache.taken(), 9U);
  EXPECT_EQ(cache.use_prefix(PrefixKey(7), 40), 0U);
}

TEST(Cache, GivesUpThePrefixThatWasUsedLongestAgo) {
  Cache cache(1, 4);
  ASSERT_TRUE(cache.take(4));
  ASSERT_EQ(cache.keep_prefix(PrefixKey(1), 2), 2U);
  ASSERT_EQ(cache.keep_prefix(PrefixKey(2), 2), 2U);
  cache.let_go(PrefixKey(1));
  cache.let_go(PrefixKey(2));
  EXPECT_EQ(cache.use_prefix(PrefixKey(1), 2), 2U);
  cache.let_go(PrefixKey(1));
  EXPECT_TRUE(cache.take(1));
  EXPECT_EQ(cache.use_prefix(PrefixKey(2), 2), 0U);
  EXPECT_EQ(cache.use_prefix(PrefixKey(1), 2), 2U);
}

TEST(Cache, IsNotUsedByWhatHasTooLittleOfAPrefix) {
  Cache cache(16, 2);
  ASSERT_TRUE(cache.take(2));
  ASSERT_EQ(cache.keep_prefix(PrefixKey(7), 32), 2U);
  cache.let_go(PrefixKey(7));
  EXPECT_EQ(cache.use_prefix(PrefixKey(7), 15), 0U);
  EXPECT_TRUE(cache.take(2));
}

TEST(Cache, IsTheSameAfterACheckpoint) {
  Cache cache(16, 10);
  ASSERT_TRUE(cache.take(4));
  cache.keep_prefix(PrefixKey(3), 32);
  cache.let_go(PrefixKey(3));
  pdes::StateWriter writer;
  cache.save(writer);
  Cache again(16, 10);
  pdes::StateReader reader(writer.bytes());
  again.restore(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(again.taken(), 4U);
  EXPECT_EQ(again.use_prefix(PrefixKey(3), 32), 32U);
}

// A sequence of random users: what it has taken, and the prefix that it uses.
struct Sequence {
  std::uint64_t own = 0;
  std::uint32_t prefix = 0;  // 0: none
};

// Blocks of sequences and prefixes add up to what is taken, never more than there are; a prefix
// that is in use stays; and a copy from a checkpoint does the same from there on.
TEST(Cache, AddsUpWhateverSequencesDo) {
  constexpr std::uint32_t block = 4;
  constexpr std::uint64_t most = 40;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](unsigned count) { return static_cast<std::uint32_t>(random() % count); };
    Cache cache(block, most);
    std::optional<Cache> copy;
    std::vector<Sequence> sequences;
    for (int step = 0; step < 400; ++step) {
      if (step == 200) {
        pdes::StateWriter writer;
        cache.save(writer);
        pdes::StateReader reader(writer.bytes());
        copy.emplace(block, most);
        copy->restore(reader);
      }
      const auto both = [&](auto act) {
        const auto result = act(cache);
        if (copy) {
          EXPECT_EQ(act(*copy), result) << seed << " " << step;
        }
        return result;
      };
      if (sequences.empty() || pick(3) == 0) {
        const std::uint64_t blocks = 1 + pick(8);
        const std::uint32_t prefix = 1 + pick(5);
        Sequence sequence;
        if (both([&](Cache& one) { return one.use_prefix(PrefixKey(prefix), 16); }) > 0) {
          sequence.prefix = prefix;
        }
        if (both([&](Cache& one) { return one.take(blocks); })) {
          sequence.own = blocks;
          if (sequence.prefix == 0 && blocks >= 3) {
            const std::uint64_t kept =
                both([&](Cache& one) { return one.keep_prefix(PrefixKey(prefix), 2 * block); });
            sequence.own -= kept;
            sequence.prefix = kept > 0 ? prefix : 0;
          }
        }
        if (sequence.own + sequence.prefix > 0) {
          sequences.push_back(sequence);
        }
      } else {
        const std::size_t gone = pick(static_cast<unsigned>(sequences.size()));
        both([&](Cache& one) {
          one.give_back(sequences[gone].own);
          if (sequences[gone].prefix > 0) {
            one.let_go(PrefixKey(sequences[gone].prefix));
          }
          return 0;
        });
        sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      std::uint64_t own = 0;
      for (const Sequence& sequence : sequences) {
        own += sequence.own;
      }
      ASSERT_EQ(cache.taken(), own + cache.of_prefixes()) << seed << " " << step;
      ASSERT_LE(cache.taken(), most);
      ASSERT_GE(cache.most_taken(), cache.taken());
      ASSERT_EQ(cache.beyond(), 0U);
    }
  }
}

// Users of a beginning are on different units as long as there are some.
TEST(Cache, HasACopyOfABeginningOnEachUnitThatUsesIt) {
  Cache cache(16, 12, 3);
  ASSERT_TRUE(cache.take(2));
  EXPECT_EQ(cache.keep_prefix(PrefixKey(1), 32), 2U);
  EXPECT_EQ(cache.lacking_copy(PrefixKey(1)), 0U);
  for (std::uint32_t users = 2; users < 6; ++users) {
    EXPECT_EQ(cache.use_prefix(PrefixKey(1), 32), 32U);
    EXPECT_EQ(cache.lacking_copy(PrefixKey(1)), users <= 3 ? 2U : 0U) << users;
    if (cache.lacking_copy(PrefixKey(1)) > 0) {
      ASSERT_TRUE(cache.take(2));
      cache.add_copy(PrefixKey(1));
    }
  }
  EXPECT_EQ(cache.taken(), 6U);
  EXPECT_EQ(cache.of_prefixes(), 6U);
  for (std::uint32_t users = 0; users < 5; ++users) {
    EXPECT_FALSE(cache.has_room(7));
    cache.let_go(PrefixKey(1));
  }
  EXPECT_TRUE(cache.has_room(12));
  Cache::GivenUp given_up;
  EXPECT_TRUE(cache.take(7, &given_up));
  ASSERT_EQ(given_up.size(), 1U);
  EXPECT_EQ(given_up[0].blocks, 2U);  // one copy of it
  EXPECT_EQ(cache.taken(), 7U);
}

}  // namespace
}  // namespace tessera::serving::cache_test
