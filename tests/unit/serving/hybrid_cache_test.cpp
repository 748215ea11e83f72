// The cache of models whose layers are of several kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "stepping.hpp"

namespace tessera::serving::hybrid_cache_test {
namespace {

using testing::at;
using testing::Heard;
using testing::language;
using testing::run;

// Two layers that see all, five with a window of 10 tokens.
BatchOptions windows() {
  BatchOptions options;
  options.block = 4;
  options.layout = {2, 5, 10, 0};
  return options;
}

// Tokens from the first that a query behind `cached` sees to the last of those that go in.
std::uint64_t blocks_in_window(std::uint64_t cached, std::uint64_t queries) {
  const std::uint64_t first = cached - std::min<std::uint64_t>(cached, 9);
  return (cached + queries + 3) / 4 - first / 4;
}

TEST(HybridCache, FreesWhatFallsOutOfTheWindow) {
  const auto batcher = make_sequence_batcher(windows());
  Heard heard;
  batcher->arrive(0, language(30, 40));
  for (std::uint32_t step = 0; step < 40; ++step) {
    ASSERT_TRUE(batcher->next(step, at(step)));
    const std::uint64_t cached = step == 0 ? 0 : 29 + step;
    const std::uint64_t queries = step == 0 ? 30 : 1;
    EXPECT_EQ(batcher->load().blocks,
              2 * ((cached + queries + 3) / 4) + 5 * blocks_in_window(cached, queries));
    batcher->end(step, at(step + 1), heard);
  }
  EXPECT_EQ(batcher->load().blocks, 0U);
  EXPECT_EQ(heard.tokens[0], 40U);
}

// What a request may hold at a time is enough for it alone, and nothing else is there.
TEST(HybridCache, FitsARequestAlone) {
  for (const std::uint32_t chunk : {0U, 5U, 16U}) {
    for (const bool shares : {true, false}) {
      BatchOptions options = windows();
      options.layout.states = 3;
      options.chunk = chunk;
      options.blocks = most_blocks_of(options, 120, shares ? std::optional(0U) : std::nullopt);
      EXPECT_LE(*options.blocks, 2 * 30 + 5 * (shares ? 60U : 30U) + (shares ? 6U : 3U));
      const auto batcher = make_sequence_batcher(options);
      Heard heard;
      for (const std::uint64_t number : {0U, 1U}) {
        batcher->arrive(number, language(100, 20, shares ? 1 : 0, shares ? 50 : 0));
      }
      run(*batcher, heard);
      EXPECT_EQ(heard.all.size(), 2U);
      EXPECT_LE(batcher->most_blocks(), *options.blocks);
    }
  }
}

// 120 tokens that go in by five, with nine before them: fourteen, in five blocks wherever they
// begin.
TEST(HybridCache, RequestsThatShareNothingNeedNoCopies) {
  BatchOptions options = windows();
  options.layout.states = 3;
  options.chunk = 5;
  EXPECT_EQ(most_blocks_of(options, 120, std::nullopt), 2 * 30 + 5 * 5 + 3U);
  EXPECT_GT(most_blocks_of(options, 120, 0), most_blocks_of(options, 120, std::nullopt));
}

// A beginning is kept with the last blocks of windows alone; who uses it goes on from there.
TEST(HybridCache, SharesTheLastBlocksOfAWindow) {
  const auto batcher = make_sequence_batcher(windows());
  Heard heard;
  batcher->arrive(0, language(100, 1, 7, 42));
  auto all = run(*batcher, heard);
  // 40 tokens in whole blocks; the 9 before them that a window sees are in three.
  EXPECT_EQ(batcher->load().blocks, 2U * 10 + 5 * 3);
  batcher->arrive(1, language(60, 1, 7, 42));
  const auto batches = run(*batcher, heard);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].groups[0].queries, 20U);
  EXPECT_EQ(batcher->counts().reused, 40U);
  all.push_back(batches[0]);
  testing::expect_conserved(*batcher, all);
}

// With states a prompt stops where its beginning ends, and the state there is kept beside its own.
TEST(HybridCache, SharesStatesAtCheckpointsAlone) {
  BatchOptions options = windows();
  options.layout = {2, 0, 0, 7};
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(100, 1, 7, 42));
  const auto first = run(*batcher, heard);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].groups[0].queries, 40U);
  EXPECT_EQ(first[1].groups[0].queries, 60U);
  EXPECT_EQ(batcher->load().blocks, 2U * 10 + 7);
  batcher->arrive(1, language(60, 1, 7, 42));
  const auto second = run(*batcher, heard);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].groups[0].queries, 20U);
}

// Prompts that are told by their blocks, of two tokens each.
class Pieces final : public RequestSource {
 public:
  explicit Pieces(std::vector<std::vector<std::uint32_t>> all) : all_(std::move(all)) {}
  std::optional<std::uint64_t> count() const override { return all_.size(); }
  Request request(std::uint64_t number) const override {
    return language(static_cast<std::uint32_t>(all_[number].size()) * 8 + 3, 2);
  }
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override {
    return all_[number];
  }
  std::uint32_t piece_tokens() const override { return 8; }
  bool shares_beginnings() const override { return true; }
  Request largest() const override { return {}; }
  std::vector<std::uint32_t> samples() const override { return {1}; }

 private:
  std::vector<std::vector<std::uint32_t>> all_;
};

// The second goes on behind the first one's prompt; the third shares less than that, where windows
// are still there and no state is.
TEST(HybridCache, SharesBlocksOfPrompts) {
  const Pieces source({{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {1, 2, 9}});
  for (const std::uint64_t states : {0U, 7U}) {
    BatchOptions options = windows();
    options.layout.states = states;
    const auto batcher = make_sequence_batcher(options, &source);
    Heard heard;
    std::vector<Batch> batches;
    std::vector<std::uint32_t> first;  // tokens of its prompt that went in
    for (std::uint64_t number = 0; number < 3; ++number) {
      batcher->arrive(number, source.request(number));
      std::uint32_t sum = 0;
      for (const Batch& batch : run(*batcher, heard)) {
        sum += batch.groups[0].queries;
        batches.push_back(batch);
      }
      first.push_back(sum - 1);
    }
    EXPECT_EQ(first[0], 35U);
    EXPECT_EQ(first[1], 43U - 32);
    EXPECT_EQ(first[2], states == 0 ? 27U - 16 : 27U);
    testing::expect_conserved(*batcher, batches);
  }
}

TEST(HybridCache, SharesBlocksOfPromptsWithTheSameAdapterAlone) {
  const Pieces source({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}});
  for (const CacheLayout& layout :
       {CacheLayout{}, CacheLayout{2, 5, 10, 0}, CacheLayout{2, 5, 10, 7}}) {
    BatchOptions options = windows();
    options.layout = layout;
    options.adapters_stay = true;
    const auto batcher = make_sequence_batcher(options, &source);
    Heard heard;
    std::vector<Batch> batches;
    std::vector<std::uint64_t> reused;
    for (const std::uint64_t number : {0U, 1U, 2U, 3U}) {
      Request request = source.request(number);
      request.adapter = number % 2 == 0 ? 3 : 0;
      batcher->arrive(number, request);
      const std::vector<Batch> steps = run(*batcher, heard);
      batches.insert(batches.end(), steps.begin(), steps.end());
      reused.push_back(batcher->counts().reused);
    }
    EXPECT_THAT(reused, ::testing::ElementsAre(0, 0, 32, 64));
    testing::expect_conserved(*batcher, batches);
  }
}

// Whatever comes when, all requests get all their tokens, within what is allowed, and what is taken
// at the end is what beginnings hold.
TEST(HybridCache, ServesRandomRequests) {
  std::mt19937_64 random(3);
  const auto between = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  for (int trial = 0; trial < 400; ++trial) {
    BatchOptions options;
    options.sequences = between(1, 6);
    options.tokens = between(1, 60);
    options.chunk = between(0, 1) == 0 ? 0 : options.tokens;
    options.block = 1U << between(0, 3);
    options.in_flight = between(1, 3);
    const bool has_window = between(0, 2) > 0;
    options.layout.windowed = has_window ? between(1, 4) : 0;
    options.layout.window = has_window ? between(1, 30) : 0;
    options.layout.states = between(0, 1) == 0 ? 0 : between(1, 9);
    options.layout.full = options.layout.is_plain() ? 1 : between(0, 3);
    const bool told_by_pieces = between(0, 1) == 0;
    const bool shares = told_by_pieces || between(0, 2) > 0;
    if (options.layout.states == 0 && between(0, 2) == 0) {
      options.drafts = 2;
      options.acceptance = 0.6;
    }
    const std::optional<std::uint32_t> piece =
        shares ? std::optional(told_by_pieces ? 8U : 0U) : std::nullopt;
    options.blocks = most_blocks_of(options, 90, piece) + between(0, 60);
    if (between(0, 1) == 0) {
      options.priorities = {2, -1, 0};
    }
    if (between(0, 1) == 0) {
      options.tier = TierOptions{between(0, 60), true, !told_by_pieces && between(0, 1) == 0};
    }
    std::vector<std::vector<std::uint32_t>> all;
    for (std::uint32_t number = 0; number < 12; ++number) {
      all.push_back({1 + between(0, 1)});
      for (std::uint32_t more = between(0, 5); more > 0; --more) {
        all.back().push_back(all.back().back() * 2 + 1 + between(0, 1));
      }
    }
    const Pieces source(all);
    auto batcher = make_sequence_batcher(options, told_by_pieces ? &source : nullptr);
    Heard heard;
    std::vector<Batch> batches;
    std::map<std::uint64_t, Request> asked;
    std::vector<std::uint32_t> under_way;
    std::uint32_t number = 0;
    for (int turn = 0; turn < 1500; ++turn) {
      if (asked.size() < 12 && between(0, 3) == 0) {
        const std::uint32_t prompt = between(1, 50);
        Request request =
            language(prompt, between(1, 30), shares ? between(0, 2) : 0, between(1, prompt));
        if (told_by_pieces) {
          request = source.request(asked.size());
          request.prompt -= between(0, 1) * 3;  // or as long as its blocks
          request.generate = between(1, 30);
        }
        request.of_class = between(0, 3);
        batcher->arrive(asked.size(), request);
        asked.emplace(asked.size(), request);
      }
      if (under_way.size() < options.in_flight && between(0, 1) == 0) {
        if (const auto batch = batcher->next(number, at(turn))) {
          batches.push_back(*batch);
          under_way.push_back(number++);
        }
      } else if (!under_way.empty()) {
        batcher->end(under_way.front(), at(turn), heard);
        under_way.erase(under_way.begin());
      }
      if (turn % 100 == 99) {  // nothing is lost in a checkpoint
        pdes::StateWriter writer;
        batcher->save(writer);
        batcher = make_sequence_batcher(options, told_by_pieces ? &source : nullptr);
        pdes::StateReader reader(writer.bytes());
        batcher->restore(reader);
        ASSERT_TRUE(reader.at_end());
      }
    }
    for (const std::uint32_t step : under_way) {
      batcher->end(step, at(5000), heard);
    }
    while (const auto batch = batcher->next(number, at(5000))) {
      batches.push_back(*batch);
      batcher->end(number++, at(5000), heard);
      ASSERT_LT(number, 100'000U) << trial << ": " << options.layout.full << " "
                                  << options.layout.windowed << " " << options.layout.window << " "
                                  << options.layout.states << ", block " << options.block
                                  << ", chunk " << options.chunk << ", tokens " << options.tokens
                                  << ", blocks " << *options.blocks << ", taken "
                                  << batcher->load().blocks << ", running "
                                  << batcher->load().running << ", waiting "
                                  << batcher->load().waiting << ", pieces " << told_by_pieces
                                  << ", drafts " << options.drafts << ", tier "
                                  << (options.tier ? options.tier->blocks : 0) << ", priorities "
                                  << options.priorities.size();
    }
    ASSERT_EQ(batcher->unfinished(), 0U) << trial;
    for (const auto& [request, what] : asked) {
      ASSERT_EQ(heard.tokens[request], what.generate) << trial << " " << request;
    }
    ASSERT_LE(batcher->most_blocks(), *options.blocks) << trial;
    testing::expect_conserved(*batcher, batches);
  }
}

}  // namespace
}  // namespace tessera::serving::hybrid_cache_test
