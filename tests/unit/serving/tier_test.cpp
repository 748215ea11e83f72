// The memory behind the cache of a model.
#include "tessera/serving/cache_tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "stepping.hpp"

namespace tessera::serving::tier_test {
namespace {

using testing::at;
using testing::Heard;
using testing::language;
using testing::run;

TEST(Tier, TakesNoMoreThanItHasRoomFor) {
  CacheTier tier({10, true, true});
  EXPECT_TRUE(tier.store(6));
  EXPECT_FALSE(tier.store(5));
  EXPECT_EQ(tier.taken(), 6U);
  tier.give_back(6);
  EXPECT_TRUE(tier.store(10));
  EXPECT_EQ(tier.beyond(), 0U);
}

TEST(Tier, GivesUpTheBeginningThatWasUsedLongestAgo) {
  CacheTier tier({10, true, true});
  EXPECT_EQ(tier.store_prefix(PrefixKey(1), 4, 64), 4U);
  EXPECT_EQ(tier.store_prefix(PrefixKey(2), 4, 64), 4U);
  EXPECT_EQ(tier.store_prefix(PrefixKey(1), 4, 64), 0U);  // there already, and used
  EXPECT_TRUE(tier.store(3));
  EXPECT_EQ(tier.blocks_of(PrefixKey(1)), 4U);
  EXPECT_EQ(tier.blocks_of(PrefixKey(2)), 0U);
  EXPECT_EQ(tier.of_prefixes(), 4U);
  EXPECT_EQ(tier.taken(), 7U);
  EXPECT_EQ(tier.store_prefix(PrefixKey(3), 8, 128), 0U);  // no room beside the sequence
  EXPECT_EQ(tier.blocks_of(PrefixKey(1)), 4U);
}

TEST(Tier, IsTheSameAfterACheckpoint) {
  CacheTier tier({8, true, true});
  tier.store_prefix(PrefixKey(1), 3, 48);
  tier.store_prefix(PrefixKey(2), 3, 48);
  tier.use_prefix(PrefixKey(1));
  pdes::StateWriter writer;
  tier.save(writer);
  CacheTier other({8, true, true});
  pdes::StateReader reader(writer.bytes());
  other.restore(reader);
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(other.taken(), 6U);
  EXPECT_EQ(other.of_prefixes(), 6U);
  EXPECT_TRUE(other.store(4));
  EXPECT_EQ(other.blocks_of(PrefixKey(2)), 0U);
  EXPECT_EQ(other.blocks_of(PrefixKey(1)), 3U);
}

// Two sequences of four blocks and no room for a fifth: the second one goes to the tier with four
// blocks, comes back with them, and nothing is computed twice.
TEST(Tier, TakesBlocksInPlaceOfComputingThemAgain) {
  BatchOptions options;
  options.block = 4;
  options.blocks = 8;
  options.tier = TierOptions{4, true, true};
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(16, 3));
  batcher->arrive(1, language(16, 3));
  const std::vector<Batch> batches = run(*batcher, heard);
  // Both prompts; the first one's two tokens, the first with blocks that go out; the second one's,
  // with blocks that come in.
  ASSERT_EQ(batches.size(), 5U);
  EXPECT_EQ(batches[1].blocks_out, 4U);
  EXPECT_EQ(batches[3].blocks_in, 4U);
  EXPECT_EQ(batches[3].tokens(), 1U);
  std::uint64_t tokens = 0;
  for (const Batch& batch : batches) {
    tokens += batch.tokens();
  }
  EXPECT_EQ(tokens, 2U * (16 + 2));
  EXPECT_EQ(batcher->counts().dropped, 0U);
  EXPECT_EQ(batcher->counts().swapped_out, 4U);
  EXPECT_EQ(heard.all.back().again, 1U);
  testing::expect_conserved(*batcher, batches);
}

TEST(Tier, HasBlocksComputedAgainWhereItIsFullOrIsNotAsked) {
  for (const TierOptions& tier : {TierOptions{3, true, true}, TierOptions{4, false, true}}) {
    BatchOptions options;
    options.block = 4;
    options.blocks = 8;
    options.tier = tier;
    const auto batcher = make_sequence_batcher(options);
    Heard heard;
    batcher->arrive(0, language(16, 3));
    batcher->arrive(1, language(16, 3));
    const std::vector<Batch> batches = run(*batcher, heard);
    EXPECT_EQ(batcher->counts().dropped, 16U);
    EXPECT_EQ(batcher->counts().swapped_out, 0U);
    testing::expect_conserved(*batcher, batches);
  }
}

// One beginning drives the other one out of the cache, which then comes from the tier.
TEST(Tier, KeepsBeginningsOfPrompts) {
  for (const bool keeps : {true, false}) {
    BatchOptions options;
    options.block = 4;
    options.blocks = 6;
    options.tier = TierOptions{16, true, keeps};
    const auto batcher = make_sequence_batcher(options);
    Heard heard;
    std::vector<Batch> batches;
    for (std::uint32_t request = 0; request < 4; ++request) {
      batcher->arrive(request, language(20, 1, 1 + request % 2, 16));
      const auto batch = batcher->next(request, at(request * 10));
      ASSERT_TRUE(batch);
      batches.push_back(*batch);
      batcher->end(request, at(request * 10 + 5), heard);
    }
    EXPECT_EQ(batches[1].tokens(), 20U);
    EXPECT_EQ(batches[1].blocks_out, keeps ? 4U : 0U);
    EXPECT_EQ(batches[2].tokens(), keeps ? 4U : 20U);
    EXPECT_EQ(batches[2].blocks_in, keeps ? 4U : 0U);
    EXPECT_EQ(batches[2].blocks_out, keeps ? 4U : 0U);  // of the second one
    EXPECT_EQ(batches[3].blocks_in, keeps ? 4U : 0U);
    EXPECT_EQ(batches[3].blocks_out, 0U);  // the first one is there still
    EXPECT_EQ(batcher->counts().tier_taken, keeps ? 8U : 0U);
    testing::expect_conserved(*batcher, batches);
  }
}

// The same beginning with two adapters is two beginnings.
TEST(Tier, KeepsBeginningsOfEachAdapter) {
  BatchOptions options;
  options.block = 4;
  options.blocks = 6;
  options.tier = TierOptions{16, true, true};
  options.adapters_stay = true;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  std::vector<Batch> batches;
  for (std::uint32_t number = 0; number < 4; ++number) {
    Request request = language(20, 1, 1, 16);
    request.adapter = number % 2;
    batcher->arrive(number, request);
    const std::vector<Batch> steps = run(*batcher, heard);
    batches.insert(batches.end(), steps.begin(), steps.end());
  }
  ASSERT_EQ(batches.size(), 4U);
  EXPECT_EQ(batches[1].tokens(), 20U);
  EXPECT_EQ(batches[2].tokens(), 4U);
  EXPECT_EQ(batches[2].blocks_in, 4U);
  EXPECT_EQ(batches[3].blocks_in, 4U);
  EXPECT_EQ(batcher->counts().tier_taken, 8U);
  testing::expect_conserved(*batcher, batches);
}

// Sequences that share a beginning of four blocks on three units: of the beginning as many copies
// are there as units use it, and where there is no room for one it is computed again.
TEST(Tier, IsBehindUnitsThatHaveSequencesOfTheirOwn) {
  for (const std::uint64_t blocks : {18U, 40U}) {
    BatchOptions options;
    options.units = 3;
    options.blocks = blocks;
    options.chunk = 64;
    options.tier = TierOptions{8, true, true};
    const auto batcher = make_sequence_batcher(options);
    for (std::uint64_t number = 0; number < 8; ++number) {
      const auto prefix = static_cast<std::uint32_t>(1 + number % 2);
      batcher->arrive(number, language(80, 8, prefix, 64));
    }
    Heard heard;
    testing::expect_conserved(*batcher, run(*batcher, heard));
    EXPECT_EQ(heard.all.size(), 8U);
    EXPECT_GT(batcher->counts().reused, 0U);
    EXPECT_EQ(batcher->counts().blocks_beyond, 0U);
    EXPECT_LE(batcher->counts().blocks_of_prefixes, 2U * 3 * 4);
    EXPECT_EQ(batcher->counts().blocks_of_prefixes % 4, 0U);
  }
}

}  // namespace
}  // namespace tessera::serving::tier_test
