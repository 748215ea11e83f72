// What a fair queue holds and keeps; in which order it gives, see memory/fair_test.cpp.

#include "tessera/pdes/fair_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

namespace tessera::pdes::fair_queue_test {
namespace {

constexpr std::size_t request_bytes = 24 + 48;  // and a node of a map
constexpr std::size_t source_bytes = 16 + 48;

TEST(FairQueue, CountsRequestsAndSources) {
  FairQueue<int> queue;
  EXPECT_EQ(queue.resident_bytes(), 0U);
  EXPECT_TRUE(queue.is_empty());
  queue.add(3, 100, 1);
  EXPECT_EQ(queue.resident_bytes(), request_bytes + source_bytes);
  queue.add(3, 100, 2);
  EXPECT_EQ(queue.resident_bytes(), 2 * request_bytes + source_bytes);
  queue.add(4, 100, 3);
  EXPECT_EQ(queue.resident_bytes(), 3 * request_bytes + 2 * source_bytes);
  EXPECT_EQ(queue.next(), 1);
  EXPECT_EQ(queue.resident_bytes(), 2 * request_bytes + 2 * source_bytes);
  EXPECT_EQ(queue.next(), 3);
  EXPECT_EQ(queue.next(), 2);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.resident_bytes(), 2 * source_bytes);
  EXPECT_EQ(queue.next(), std::nullopt);
  EXPECT_EQ(queue.resident_bytes(), 0U) << "what sources had is forgotten";
}

TEST(FairQueue, KeepsNothingOfNothing) {
  StateWriter writer;
  FairQueue<int>().save(writer);
  EXPECT_THAT(writer.bytes(), ::testing::Each(std::byte{0}));
}

// Those of one source with the same start tag, and later ones, in the order in which they came.
TEST(FairQueue, GoesOnFromWhatItKept) {
  FairQueue<int> queue;
  for (int i = 0; i < 4; ++i) {
    queue.add(1, 0, i);
  }
  queue.add(2, 70, 10);
  EXPECT_EQ(queue.next(), 0);
  StateWriter writer;
  queue.save(writer);
  StateReader reader(writer.bytes());
  FairQueue<int> other;
  other.add(9, 1, 99);
  other.restore(reader);
  for (FairQueue<int>* one : {&queue, &other}) {
    one->add(1, 0, 4);
    one->add(2, 5, 11);
    for (const int expected : {1, 2, 3, 4, 10, 11}) {
      EXPECT_EQ(one->next(), expected);
    }
    one->add(3, 1, 20);
    one->add(1, 1, 21);
    EXPECT_EQ(one->next(), 21) << "both begin at the virtual time: the lower source first";
    EXPECT_EQ(one->next(), 20);
    EXPECT_EQ(one->next(), std::nullopt);
  }
}

}  // namespace
}  // namespace tessera::pdes::fair_queue_test
