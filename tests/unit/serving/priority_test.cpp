// Requests of classes, and batches by their priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stepping.hpp"
#include "tessera/config/document.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::serving::priority_test {
namespace {

using testing::at;
using ::testing::ElementsAre;
using testing::Heard;
using testing::language;
using testing::run;

Request of(std::uint32_t of_class, std::int64_t arrival, std::uint32_t prompt,
           std::uint32_t generate) {
  Request request = language(prompt, generate);
  request.of_class = of_class;
  request.arrival = at(arrival);
  return request;
}

std::vector<std::uint64_t> order_of(const Heard& heard) {
  std::vector<std::uint64_t> order;
  for (const Served& served : heard.all) {
    order.push_back(served.request);
  }
  return order;
}

// One at a time: the first one that came, then by priority, and by arrival where that is the same.
TEST(Priorities, SayWhoIsAdmittedFirst) {
  BatchOptions options;
  options.sequences = 1;
  options.priorities = {5, -1};
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, of(1, 0, 8, 2));
  ASSERT_TRUE(batcher->next(0, at(1)));
  batcher->arrive(1, of(1, 2, 8, 1));
  batcher->arrive(2, of(0, 3, 8, 1));  // of no class: 0
  batcher->arrive(3, of(2, 4, 8, 1));
  batcher->arrive(4, of(2, 5, 8, 1));
  EXPECT_EQ(batcher->load_of(1).running + batcher->load_of(1).waiting, 2U);
  EXPECT_EQ(batcher->load_of(2).waiting, 2U);
  EXPECT_EQ(batcher->load_of(0).waiting, 1U);
  batcher->end(0, at(6), heard);
  for (std::uint32_t step = 1; batcher->next(step, at(10 * step)); ++step) {
    batcher->end(step, at(10 * step + 5), heard);
  }
  EXPECT_THAT(order_of(heard), ElementsAre(0, 3, 4, 2, 1));
  EXPECT_EQ(batcher->load_of(2).running + batcher->load_of(2).waiting, 0U);
}

// By whose targets a scheduler is to go.
TEST(Priorities, TheRequestThatHasWaitedLongestSaysItsClass) {
  const auto batcher = make_sequence_batcher({});
  batcher->arrive(0, of(1, 5, 8, 2));
  batcher->arrive(1, of(2, 3, 8, 2));
  ASSERT_TRUE(batcher->next(0, at(6)));
  EXPECT_EQ(batcher->waiting(0).since, at(3));
  EXPECT_EQ(batcher->waiting(0).of_class, 2U);
}

TEST(Priorities, DoNotMatterUnlessBatchesGoByThem) {
  BatchOptions options;
  options.sequences = 1;
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, of(1, 0, 8, 1));
  batcher->arrive(1, of(2, 1, 8, 1));
  run(*batcher, heard);
  EXPECT_THAT(order_of(heard), ElementsAre(0, 1));
}

// Three sequences of four blocks each and no room for a fifth. By priority the one in the middle
// gives its blocks back, though another came after it; first come, first served, the last one does.
TEST(Priorities, SayWhoGivesItsCacheBack) {
  for (const bool by_priority : {true, false}) {
    BatchOptions options;
    options.block = 4;
    options.blocks = 12;
    if (by_priority) {
      options.priorities = {0, 1};
    }
    const auto batcher = make_sequence_batcher(options);
    Heard heard;
    batcher->arrive(0, of(1, 0, 16, 4));
    batcher->arrive(1, of(2, 1, 16, 4));
    batcher->arrive(2, of(1, 2, 16, 4));
    const std::vector<Batch> batches = run(*batcher, heard);
    std::map<std::uint64_t, std::uint32_t> again;
    for (const Served& served : heard.all) {
      again[served.request] = served.again;
    }
    EXPECT_EQ(again[0], 0U);
    EXPECT_EQ(again[1], by_priority ? 1U : 0U);
    EXPECT_EQ(again[2], by_priority ? 0U : 1U);
    testing::expect_conserved(*batcher, batches);
  }
}

// The less urgent one is in the step already when the more urgent one needs its blocks.
TEST(Priorities, TakeFromWhoWasPickedBefore) {
  BatchOptions options;
  options.block = 4;
  options.blocks = 8;
  options.priorities = {0, 1};
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  batcher->arrive(0, of(2, 0, 15, 4));  // has room for a token in its last block
  ASSERT_TRUE(batcher->next(0, at(0)));
  batcher->end(0, at(5), heard);
  batcher->arrive(1, of(1, 6, 16, 4));
  ASSERT_TRUE(batcher->next(1, at(6)));
  batcher->end(1, at(9), heard);
  const auto step = batcher->next(2, at(10));
  ASSERT_TRUE(step);
  EXPECT_THAT(step->groups, ElementsAre(SequenceGroup{1, 1, 20}));  // alone, in five blocks
  EXPECT_EQ(batcher->load().waiting, 1U);
  EXPECT_EQ(batcher->counts().dropped, 15U);
}

// The first one needs 40 blocks for its next part, and 25 are free; one behind it is in another
// step, and will give them. Who waits behind both takes none of them meanwhile.
TEST(Priorities, AdmitNobodyWhileOneThatRunsGoesWithoutRoom) {
  BatchOptions options;
  options.block = 1;
  options.blocks = 85;
  options.chunk = 40;
  options.in_flight = 2;
  options.priorities = {0, 1, 2};
  const auto batcher = make_sequence_batcher(options);
  Heard heard;
  std::vector<Batch> batches;
  const auto next = [&](std::uint32_t number) {
    const auto batch = batcher->next(number, at(10 * number));
    if (batch) {
      batches.push_back(*batch);
    }
    return batch.has_value();
  };
  batcher->arrive(0, of(0, 0, 80, 1));
  ASSERT_TRUE(next(0));
  batcher->arrive(1, of(2, 1, 20, 4));
  ASSERT_TRUE(next(1));
  batcher->end(0, at(15), heard);
  batcher->arrive(2, of(3, 2, 20, 4));
  EXPECT_EQ(batcher->load().blocks, 60U);
  EXPECT_FALSE(next(2));
  EXPECT_EQ(batcher->load_of(3).waiting, 1U);
  batcher->end(1, at(25), heard);
  ASSERT_TRUE(next(3));
  // Alone; a token of the step had been for the one that gave its blocks.
  EXPECT_THAT(batches.back().groups, ElementsAre(SequenceGroup{1, 39, 79}));
  batcher->end(3, at(35), heard);
  for (std::uint32_t step = 4; next(step); ++step) {
    batcher->end(step, at(10 * step + 5), heard);
  }
  EXPECT_EQ(heard.all.size(), 3U);
  EXPECT_EQ(order_of(heard).front(), 0U);
  testing::expect_conserved(*batcher, batches);
}

std::unique_ptr<RequestSource> source(const std::string& text,
                                      const std::vector<std::string>& names) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("requests.yaml", text, diagnostics), "", diagnostics);
  auto made = read_requests(section, {true, false, 7, names});
  section.finish();
  diagnostics.throw_if_any();
  return made;
}

const std::vector<RequestClass> two{{"urgent", 0, 1}, {"batch", 1, 3}};

TEST(Classes, AreDrawnByTheirShares) {
  const auto requests = with_marks(
      source("{arrivals: poisson, count: 20000, rate: 1000, prompt: 8, generate: 4}", {}), two, {},
      7);
  std::map<std::uint32_t, std::uint64_t> drawn;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const std::uint32_t of_class = requests->request(number).of_class;
    ++drawn[of_class];
    ASSERT_EQ(requests->class_of(number), of_class);
  }
  // 0.25 of each, within four standard deviations of sqrt(20000 * 0.25 * 0.75) = 61.
  EXPECT_NEAR(static_cast<double>(drawn[1]), 5000, 245);
  EXPECT_EQ(drawn[1] + drawn[2], 20'000U);
}

TEST(Classes, AreSaidByLists) {
  const auto requests =
      with_marks(source("{arrivals: list, list: [{at: 2 us, prompt: 8, generate: 1, class: batch}, "
                        "{at: 1 us, prompt: 8, generate: 1, class: urgent}]}",
                        {"urgent", "batch"}),
                 two, {}, 7);
  EXPECT_EQ(requests->request(0).of_class, 1U);  // in order of arrival
  EXPECT_EQ(requests->request(1).of_class, 2U);
  EXPECT_EQ(requests->class_of(1), 2U);
  EXPECT_THROW(source("{arrivals: list, list: [{at: 1 us, prompt: 8, generate: 1, class: slow}]}",
                      {"urgent", "batch"}),
               ConfigError);
}

}  // namespace
}  // namespace tessera::serving::priority_test
