#include "tessera/pdes/self_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::pdes::self_queue_test {
namespace {

using Handled = std::vector<std::pair<std::int64_t, std::uint32_t>>;  // time, sequence

// Numbers events in the order of their insertion.
struct Inserter {
  SelfQueue queue;
  std::uint32_t sequence = 0;
  void insert(std::int64_t time) {
    queue.insert(SimTime::from_ps(time), [&](Event& event) {
      event = {};
      event.time = SimTime::from_ps(time);
      event.sequence = sequence++;
    });
  }
};

std::pair<std::int64_t, std::uint32_t> key_of(const Event& event) {
  return {event.time.ps(), event.sequence};
}

TEST(SelfQueue, HandlesInOrderOfTimeThenOfInsertion) {
  Inserter inserter;
  for (const std::int64_t time : {5, 5, 3, 7, 3, 5, 9, 1}) {
    inserter.insert(time);
  }
  Handled handled;
  EXPECT_EQ(inserter.queue.run(nullptr, [&](const Event& e) { handled.push_back(key_of(e)); }), 8U);
  EXPECT_EQ(handled, (Handled{{1, 7}, {3, 2}, {3, 4}, {5, 0}, {5, 1}, {5, 5}, {7, 3}, {9, 6}}));
  EXPECT_TRUE(inserter.queue.is_empty());
}

TEST(SelfQueue, StopsBeforeAnEventThatIsEarlier) {
  Inserter inserter;
  inserter.insert(4);
  inserter.insert(6);
  Event limit;
  limit.time = SimTime::from_ps(5);
  Handled handled;
  const auto note = [&](const Event& event) { handled.push_back(key_of(event)); };
  EXPECT_EQ(inserter.queue.run(&limit, note), 1U);
  EXPECT_EQ(handled, (Handled{{4, 0}}));
  EXPECT_FALSE(inserter.queue.is_empty());
  EXPECT_EQ(inserter.queue.run(nullptr, note), 1U);
}

// What is inserted while an event is handled may make the queue larger: the event stays readable.
TEST(SelfQueue, KeepsTheEventThatIsHandledInPlace) {
  Inserter inserter;
  inserter.insert(0);
  Handled handled;
  inserter.queue.run(nullptr, [&](const Event& event) {
    if (event.sequence == 0) {
      for (std::int64_t i = 0; i < 1000; ++i) {
        inserter.insert(1000 - i / 2);
      }
    }
    handled.push_back(key_of(event));
  });
  ASSERT_EQ(handled.size(), 1001U);
  EXPECT_EQ(handled.front(), std::pair(std::int64_t{0}, 0U));
}

// Against a sorted list, with insertions while events are handled.
TEST(SelfQueue, AgreesWithAListThatIsSorted) {
  RandomStream stream(7, EntityId(0), 0);
  for (int round = 0; round < 200; ++round) {
    Inserter inserter;
    Handled expected;
    std::int64_t now = 0;
    const auto more = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto time = now + static_cast<std::int64_t>(stream.next_u64() % 8);
        expected.emplace_back(time, inserter.sequence);
        inserter.insert(time);
      }
    };
    more(5);
    std::uint64_t left = 100;
    inserter.queue.run(nullptr, [&](const Event& event) {
      const auto earliest = std::min_element(expected.begin(), expected.end());
      ASSERT_EQ(key_of(event), *earliest);
      expected.erase(earliest);
      now = event.time.ps();
      const std::uint64_t fresh = std::min(left, stream.next_u64() % 4);
      left -= fresh;
      more(fresh);
      ASSERT_EQ(event.time.ps(), now);
    });
    EXPECT_TRUE(expected.empty());
  }
}

}  // namespace
}  // namespace tessera::pdes::self_queue_test
