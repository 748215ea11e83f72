#include "tessera/pdes/far_heap.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tessera/core/random.hpp"

namespace tessera::pdes::far_heap_test {
namespace {

// Times with many ties, pushed and popped at random: what comes first is never later than what the
// reference has, each event comes back whole and once.
TEST(FarHeap, GivesTheEarliestOfWhatItHolds) {
  FarHeap heap;
  std::multiset<std::pair<std::int64_t, std::uint32_t>> held;
  RandomStream random(5, EntityId(0), 0);
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const bool grows = step < 8'000 ? random.next_below(4) != 0 : random.next_below(4) == 0;
    if (grows) {
      Event event;
      event.time = SimTime::from_ps(static_cast<std::int64_t>(random.next_below(500)));
      event.sequence = step;
      heap.push(event);
      held.emplace(event.time.ps(), step);
    } else if (!held.empty()) {
      ASSERT_EQ(heap.first_time().ps(), held.begin()->first);
      const Event first = heap.first();
      ASSERT_EQ(first.time, heap.first_time());
      ASSERT_EQ(held.erase({first.time.ps(), first.sequence}), 1U);
      heap.pop();
    }
    ASSERT_EQ(heap.is_empty(), held.empty());
  }
  std::size_t visited = 0;
  heap.visit([&](const Event& event) { visited += held.count({event.time.ps(), event.sequence}); });
  EXPECT_EQ(visited, held.size());
}

}  // namespace
}  // namespace tessera::pdes::far_heap_test
