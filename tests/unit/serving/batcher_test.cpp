#include "tessera/serving/batcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "stepping.hpp"

namespace tessera::serving::batcher_test {
namespace {

using testing::at;
using ::testing::ElementsAre;
using testing::Heard;
using testing::language;
using testing::run;

TEST(SequenceBatcher, TakesAPromptAndThenATokenAtATime) {
  BatchOptions options;
  options.block = 1;
  const auto batcher = make_sequence_batcher(options);
  batcher->arrive(5, language(100, 3));
  Heard heard;
  const auto batches = run(*batcher, heard);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_THAT(batches[0].groups, ElementsAre(SequenceGroup{1, 100, 100}));
  EXPECT_THAT(batches[1].groups, ElementsAre(SequenceGroup{1, 1, 101}));
  EXPECT_THAT(batches[2].groups, ElementsAre(SequenceGroup{1, 1, 102}));
  EXPECT_EQ(batches[0].emitting, 1U);
  ASSERT_EQ(heard.all.size(), 1U);
  EXPECT_EQ(heard.all[0].request, 5U);
  EXPECT_EQ(heard.all[0].first, at(10));
  EXPECT_EQ(heard.all[0].last, at(30));
  EXPECT_EQ(batcher->unfinished(), 0U);
}

TEST(SequenceBatcher, LetsRequestsJoinBetweenSteps) {
  BatchOptions options;
  options.block = 16;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(20, 5));
  ASSERT_TRUE(batcher->next(0, at(0)));
  batcher->end(0, at(10), heard);
  batcher->arrive(1, language(30, 5));
  const auto prompt = batcher->next(1, at(10));  // before generation goes on
  ASSERT_TRUE(prompt);
  EXPECT_THAT(prompt->groups, ElementsAre(SequenceGroup{1, 30, 32}));
  batcher->end(1, at(20), heard);
  const auto both = batcher->next(2, at(20));
  ASSERT_TRUE(both);
  EXPECT_THAT(both->groups, ElementsAre(SequenceGroup{2, 1, 32}));  // alike by blocks: 21 and 31
}

TEST(SequenceBatcher, GoesBatchByBatchWhenNotContinuous) {
  BatchOptions options;
  options.block = 1;
  options.continuous = false;
  options.tokens = 10;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(6, 2));
  batcher->arrive(1, language(6, 3));
  ASSERT_TRUE(batcher->next(0, at(0)));  // both do not fit a step
  batcher->end(0, at(10), heard);
  ASSERT_TRUE(batcher->next(1, at(10)));
  batcher->end(1, at(20), heard);
  batcher->arrive(2, language(4, 1));  // behind the last one that was there
  const auto batch = batcher->next(2, at(20));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->tokens(), 2U);
  batcher->end(2, at(30), heard);
  const auto last = batcher->next(3, at(30));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->tokens(), 1U);
  batcher->end(3, at(40), heard);
  const auto other = batcher->next(4, at(40));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->tokens(), 4U);
}

TEST(SequenceBatcher, TakesNobodyWhoCameAfterABatchBegan) {
  for (const std::uint32_t chunk : {0U, 6U}) {
    BatchOptions options;
    options.block = 1;
    options.continuous = false;
    options.tokens = 10;
    options.chunk = chunk;
    const auto batcher = make_sequence_batcher(options);
    Heard heard;
    batcher->arrive(0, language(6, 3));
    batcher->arrive(1, language(6, 3));
    ASSERT_TRUE(batcher->next(0, at(0)));  // both do not fit a step
    batcher->arrive(2, language(4, 3));
    for (std::uint32_t step = 0; batcher->unfinished() > 1; ++step) {
      batcher->end(step, at(step * 10 + 10), heard);
      EXPECT_LE(batcher->load().running, 2U);
      ASSERT_TRUE(batcher->next(step + 1, at(step * 10 + 10)));
    }
    EXPECT_EQ(batcher->load().waiting, 0U);
    EXPECT_EQ(batcher->load().running, 1U);
  }
}

TEST(SequenceBatcher, HasClosedABatchWhoeverComesWithEachStep) {
  for (const std::uint32_t chunk : {0U, 8U}) {
    BatchOptions options;
    options.block = 1;
    options.continuous = false;
    options.chunk = chunk;
    const auto batcher = make_sequence_batcher(options);
    Heard heard;
    for (std::uint32_t step = 0; step < 4; ++step) {
      batcher->arrive(step, language(6, 4));
      const auto batch = batcher->next(step, at(step * 10));
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->tokens(), step == 0 ? 6U : 1U) << chunk;
      batcher->end(step, at(step * 10 + 10), heard);
    }
    ASSERT_TRUE(batcher->next(4, at(40)));
    EXPECT_EQ(batcher->load().running, chunk == 0 ? 3U : 2U);
  }
}

TEST(SequenceBatcher, FillsChunksBesideGeneration) {
  BatchOptions options;
  options.block = 1;
  options.chunk = 8;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(5, 4));
  batcher->arrive(1, language(20, 2));
  const auto batches = run(*batcher, heard);
  ASSERT_GE(batches.size(), 4U);
  EXPECT_THAT(batches[0].groups, ElementsAre(SequenceGroup{1, 3, 3}, SequenceGroup{1, 5, 5}));
  EXPECT_EQ(batches[0].emitting, 1U);
  EXPECT_THAT(batches[1].groups, ElementsAre(SequenceGroup{1, 1, 6}, SequenceGroup{1, 7, 10}));
  EXPECT_THAT(batches[2].groups, ElementsAre(SequenceGroup{1, 1, 7}, SequenceGroup{1, 7, 17}));
  for (const Batch& batch : batches) {
    EXPECT_LE(batch.tokens(), 8U);
  }
}

TEST(SequenceBatcher, ComputesASharedBeginningOnce) {
  BatchOptions options;
  options.block = 16;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(100, 1, 9, 64));
  run(*batcher, heard);
  batcher->arrive(1, language(90, 1, 9, 64));
  batcher->arrive(2, language(90, 1, 8, 64));
  const auto batches = run(*batcher, heard);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_THAT(batches[0].groups, ElementsAre(SequenceGroup{1, 26, 96}, SequenceGroup{1, 90, 96}));
}

TEST(SequenceBatcher, ComputesAgainWhatLostItsCache) {
  BatchOptions options;
  options.block = 1;
  options.blocks = 30;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, language(10, 15));
  batcher->arrive(1, language(10, 15));
  run(*batcher, heard);
  ASSERT_EQ(heard.all.size(), 2U);
  EXPECT_EQ(heard.all[0].request, 0U);  // who came first keeps its place
  EXPECT_EQ(heard.all[0].again, 0U);
  EXPECT_EQ(heard.all[1].again, 1U);
  EXPECT_EQ(heard.tokens[1], 15U);
  EXPECT_LE(batcher->most_blocks(), 30U);
}

// Whatever comes when, all requests get all their tokens, within what is allowed.
// Requests that came later, keep the cache full and generate have been picked when it is the turn
// of a prompt that has begun: they give way all the same, and nobody is admitted before it goes on.
TEST(SequenceBatcher, DoesNotLetAPromptWaitForThoseBehindIt) {
  BatchOptions options;
  options.block = 16;
  options.chunk = 64;
  options.blocks = 16;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  std::uint32_t number = 0;
  const auto step = [&] {
    ASSERT_TRUE(batcher->next(number, at(number * 10)));
    batcher->end(number, at(number * 10 + 10), heard);
    ++number;
  };
  batcher->arrive(0, language(200, 2));
  step();
  for (std::uint32_t request = 1; request < 100; ++request) {
    batcher->arrive(request, language(16, 100));
  }
  while (heard.tokens[0] < 2 && number < 20) {
    step();
  }
  EXPECT_EQ(number, 5U);  // 64 tokens in a step but for those that others generate, and one more
}

TEST(SequenceBatcher, ServesRandomRequests) {
  std::mt19937_64 random(1);
  const auto between = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random() % (high - low + 1));
  };
  for (int trial = 0; trial < 300; ++trial) {
    BatchOptions options;
    options.continuous = between(0, 3) > 0;
    options.sequences = between(1, 6);
    options.tokens = between(1, 60);
    options.chunk = between(0, 1) == 0 ? 0 : options.tokens;
    options.block = between(1, 8);
    options.in_flight = between(1, 3);
    const std::uint32_t longest = 80;
    options.blocks = (longest + options.block - 1) / options.block + between(0, 20);
    if (between(0, 1) == 0) {
      options.priorities = {2, -1, 0};
    }
    if (between(0, 1) == 0) {
      options.tier = TierOptions{between(0, 30), between(0, 2) > 0, between(0, 2) > 0};
    }
    std::vector<Batch> batches;
    auto batcher = make_sequence_batcher(options);
    Heard heard;
    std::map<std::uint64_t, Request> asked;
    std::vector<std::uint32_t> under_way;
    std::uint32_t number = 0;
    for (int turn = 0; turn < 1500; ++turn) {
      if (asked.size() < 12 && between(0, 3) == 0) {
        const std::uint32_t prompt = between(1, 50);
        Request request = language(prompt, between(1, 30), between(0, 2), between(1, prompt));
        request.of_class = between(0, 3);
        batcher->arrive(asked.size(), request);
        asked.emplace(asked.size(), request);
      }
      if (under_way.size() < options.in_flight && between(0, 1) == 0) {
        if (const auto batch = batcher->next(number, at(turn))) {
          ASSERT_LE(batch->tokens(), options.tokens);
          ASSERT_GT(batch->tokens(), 0U);
          batches.push_back(*batch);
          under_way.push_back(number++);
        }
      } else if (!under_way.empty()) {
        const auto which =
            under_way.begin() + between(0, static_cast<std::uint32_t>(under_way.size()) - 1);
        batcher->end(*which, at(turn), heard);
        under_way.erase(which);
      }
      if (turn % 100 == 99) {  // nothing is lost in a checkpoint
        pdes::StateWriter writer;
        batcher->save(writer);
        batcher = make_sequence_batcher(options);
        pdes::StateReader reader(writer.bytes());
        batcher->restore(reader);
        ASSERT_TRUE(reader.at_end());
      }
    }
    for (std::uint32_t step : under_way) {
      batcher->end(step, at(5000), heard);
    }
    while (const auto batch = batcher->next(number, at(5000))) {
      batches.push_back(*batch);
      batcher->end(number++, at(5000), heard);
      ASSERT_LT(number, 1'000'000U) << trial;
    }
    ASSERT_EQ(batcher->unfinished(), 0U)
        << trial << ": " << options.continuous << " " << options.tokens << " " << options.chunk
        << " " << options.sequences << " " << options.in_flight << " " << options.block << " "
        << *options.blocks;
    ASSERT_EQ(heard.all.size(), asked.size());
    for (const auto& [request, what] : asked) {
      ASSERT_EQ(heard.tokens[request], what.generate) << trial << " " << request;
      ASSERT_EQ(heard.firsts[request], 1U);
    }
    ASSERT_LE(batcher->most_blocks(), *options.blocks);
    testing::expect_conserved(*batcher, batches);
  }
}

TEST(SampleBatcher, PutsWaitingRequestsTogether) {
  BatchOptions options;
  options.samples = 8;
  const auto batcher = make_sample_batcher(options);
  for (std::uint64_t number = 0; number < 4; ++number) {
    Request request;
    request.samples = number == 2 ? 9 : 3;  // one is larger than a batch
    batcher->arrive(number, request);
  }
  Heard heard;
  const auto batches = run(*batcher, heard);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].samples, 6U);
  EXPECT_EQ(batches[1].samples, 9U);
  EXPECT_EQ(batches[2].samples, 3U);
  EXPECT_EQ(heard.all.size(), 4U);
}

// Three drafts of which each is right with probability a half: 1 + 1/2 + 1/4 + 1/8 tokens a step.
TEST(SequenceBatcher, GivesWhatDraftsGain) {
  BatchOptions options;
  options.chunk = 64;
  options.drafts = 3;
  options.acceptance = 0.5;
  const auto batcher = make_sequence_batcher(options);
  Request request;
  request.prompt = 10;
  request.generate = 76;
  batcher->arrive(0, request);
  class Counter final : public BatchListener {
   public:
    void on_token(std::uint64_t, std::optional<SimTime>) override { ++tokens; }
    void on_served(const Served& served) override { last = served; }
    std::uint32_t tokens = 0;
    std::optional<Served> last;
  } counter;
  std::uint64_t computed = 0;
  std::uint32_t steps = 0;
  while (const auto batch = batcher->next(steps, SimTime::from_ps(steps))) {
    computed += batch->tokens();
    EXPECT_EQ(batch->drafts, steps == 0 ? 0U : batch->tokens() - 1);  // none for a prompt
    const bool is_last = batcher->end_with_steps();
    batcher->end(steps, SimTime::from_ps(steps), counter);
    EXPECT_EQ(is_last, counter.last.has_value()) << steps;
    ++steps;
  }
  ASSERT_TRUE(counter.last);
  EXPECT_EQ(counter.tokens, 76U);
  EXPECT_EQ(steps, 1U + 41);  // the prompt, 73 tokens in 39 steps, and two with fewer drafts
  const BatchCounts counts = batcher->counts();
  EXPECT_EQ(counts.held, 10U + 75);
  EXPECT_EQ(computed + counts.reused, counts.held + counts.dropped);
}

// With others its time begins when keys and values have come, with the second token.
TEST(SequenceBatcher, TakesOverWhatOthersHaveComputed) {
  BatchOptions options;
  options.chunk = 64;
  const auto batcher = make_sequence_batcher(options);
  Request request;
  request.prompt = 100;
  request.generate = 3;
  batcher->take_over({7, request, SimTime::from_ps(1), SimTime::from_ps(2), 0});
  EXPECT_EQ(batcher->load().waiting, 1U);
  const auto batch = batcher->next(0, SimTime::from_ps(5));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->groups, (std::vector<SequenceGroup>{{1, 1, 112}}));
  EXPECT_EQ(batch->emitting, 1U);
  EXPECT_EQ(batcher->load().running, 1U);
  EXPECT_EQ(batcher->load().blocks, 7U);
  EXPECT_EQ(batcher->counts().reused, 100U);
}

}  // namespace
}  // namespace tessera::serving::batcher_test
