// Prompts that are in the cache as a whole: what goes in again is the block with the last token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "stepping.hpp"

namespace tessera::serving::whole_prompt_test {
namespace {

using testing::at;
using testing::Heard;
using testing::language;

// Prompts of so many tokens, told by their blocks of 16 tokens: 1, 2, 3 and so on.
class Alike final : public RequestSource {
 public:
  explicit Alike(std::vector<std::uint32_t> prompts) : prompts_(std::move(prompts)) {}
  std::optional<std::uint64_t> count() const override { return prompts_.size(); }
  Request request(std::uint64_t number) const override { return language(prompts_[number], 3); }
  std::span<const std::uint32_t> pieces(std::uint64_t number) const override {
    return std::span(numbers_).first((prompts_[number] + 15) / 16);
  }
  std::uint32_t piece_tokens() const override { return 16; }
  bool shares_beginnings() const override { return true; }
  Request largest() const override { return {}; }
  std::vector<std::uint32_t> samples() const override { return {1}; }

 private:
  std::vector<std::uint32_t> prompts_;
  std::vector<std::uint32_t> numbers_{1, 2, 3, 4, 5, 6};
};

BatchOptions blocks_of_four(std::optional<std::uint64_t> blocks = std::nullopt) {
  BatchOptions options;
  options.block = 4;
  options.blocks = blocks;
  return options;
}

// Tokens of each prompt that go in, one request after the other.
std::vector<std::uint64_t> computed(Batcher& batcher, const std::vector<Request>& requests) {
  Heard heard;
  std::vector<Batch> batches;
  std::vector<std::uint64_t> tokens;
  for (std::uint64_t number = 0; number < requests.size(); ++number) {
    batcher.arrive(number, requests[number]);
    const std::vector<Batch> some = testing::run(batcher, heard);
    tokens.push_back(some.empty() ? 0 : some.front().tokens());
    batches.insert(batches.end(), some.begin(), some.end());
  }
  EXPECT_EQ(heard.all.size(), requests.size());
  testing::expect_conserved(batcher, batches);
  return tokens;
}

std::vector<std::uint64_t> computed(const BatchOptions& options, const Alike& source) {
  std::vector<Request> requests;
  for (std::uint64_t number = 0; number < source.count(); ++number) {
    requests.push_back(source.request(number));
  }
  return computed(*make_sequence_batcher(options, &source), requests);
}

TEST(WholePrompt, ComputesItsLastBlockAgain) {
  EXPECT_THAT(computed(blocks_of_four(), Alike({64, 64, 65, 16, 66})),
              ::testing::ElementsAre(64, 4, 1, 4, 2));
}

// By name the same.
TEST(WholePrompt, OfABeginningWithANameComputesItsLastBlockAgain) {
  const std::vector<Request> requests{language(32, 2, 7, 32), language(32, 2, 7, 32),
                                      language(33, 2, 7, 32)};
  EXPECT_THAT(computed(*make_sequence_batcher(blocks_of_four()), requests),
              ::testing::ElementsAre(32, 4, 1));
}

// The block that is computed again is one more: where there is no room for it, the cache alone
// being large enough for the request, all of the last 16 tokens are computed.
TEST(WholePrompt, IsServedWhereThereIsNoRoomForTheBlockBeside) {
  for (const bool has_tier : {false, true}) {
    for (std::uint64_t blocks = 17; blocks < 20; ++blocks) {
      BatchOptions options = blocks_of_four(blocks);
      if (has_tier) {
        options.tier = TierOptions{40, true, true};
      }
      const auto tokens = computed(options, Alike({64, 64, 16, 64}));
      EXPECT_EQ(tokens[1], 4U) << blocks;
      EXPECT_EQ(tokens[3], 4U) << blocks;
    }
    BatchOptions options = blocks_of_four(16);
    if (has_tier) {
      options.tier = TierOptions{40, true, true};
    }
    const auto again = [&](std::uint32_t generate) {
      const Alike source({64, 64});
      std::vector<Request> requests{source.request(0), source.request(1)};
      requests[0].generate = requests[1].generate = generate;
      return computed(*make_sequence_batcher(options, &source), requests);
    };
    EXPECT_THAT(again(1), ::testing::ElementsAre(64, 16));
  }
}

// Windows and states are kept of ends of blocks alone.
TEST(WholePrompt, OfOtherLayersGoesOnBehindTheBlockBefore) {
  BatchOptions options = blocks_of_four();
  options.layout = {2, 5, 10, 0};
  EXPECT_THAT(computed(options, Alike({64, 64, 65})), ::testing::ElementsAre(64, 16, 1));
}

}  // namespace
}  // namespace tessera::serving::whole_prompt_test
