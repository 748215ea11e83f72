// What the pending-event set takes for memory, and where it changes its shape.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/pdes/calendar.hpp"
#include "tessera/pdes/far_heap.hpp"
#include "tessera/pdes/self_queue.hpp"

namespace tessera::pdes::calendar_sizes_test {
namespace {

constexpr std::int64_t width_ps = 1000;
constexpr std::size_t bucket_bytes = 24;  // near and far
constexpr std::size_t small_chunk_bytes = 16 + 8 * 48;
constexpr std::size_t large_chunk_bytes = 1024;

Event event_in(WindowNumber window, std::uint32_t target = 0) {
  Event event;
  event.time = SimTime::from_ps(window * width_ps);
  event.target = target;
  return event;
}

std::size_t take(Calendar& calendar, WindowNumber window) {
  std::size_t events = 0;
  calendar.take(window);
  for (Calendar::List list = calendar.next_list(); list.chunks != nullptr;
       list = calendar.next_list()) {
    EventChunk* last = list.chunks;
    for (; last->next != nullptr; last = last->next) {
      events += last->count;
    }
    events += last->count;
    calendar.release(list, last);
  }
  return events;
}

TEST(EventChunkPool, GrowsBySlabs) {
  EventChunkPool pool(8);
  EXPECT_EQ(pool.capacity(), 8U);
  EXPECT_EQ(pool.resident_bytes(), 0U);
  std::size_t chunks = 0;
  EventChunk* list = nullptr;
  EventChunk* last = nullptr;
  const auto take_up_to = [&](std::size_t count) {
    for (; chunks < count; ++chunks) {
      EventChunk* const chunk = pool.take();
      chunk->next = list;
      last = list == nullptr ? chunk : last;
      list = chunk;
    }
    return pool.resident_bytes() / small_chunk_bytes;
  };
  EXPECT_EQ(take_up_to(1), 4U);
  EXPECT_EQ(take_up_to(4), 4U);
  EXPECT_EQ(take_up_to(5), 8U);
  EXPECT_EQ(take_up_to(640), 640U);
  EXPECT_EQ(take_up_to(641), 645U) << "a 128th of them";
  EXPECT_EQ(take_up_to(1277), 1283U);
  EXPECT_EQ(pool.resident_bytes() % small_chunk_bytes, 0U);
  EventChunk* const first = list;
  pool.give_back(first, last);
  EXPECT_EQ(pool.take(), first) << "the last one given back is the first one taken";
  EXPECT_EQ(pool.resident_bytes(), 1283 * small_chunk_bytes);
}

TEST(CalendarSizes, FollowTheNumberOfEntities) {
  struct Expected {
    std::uint32_t entities;
    unsigned block_bits;
    std::size_t spans;
  };
  for (const Expected& expected : {Expected{0, 8, 64},
                                   {1, 8, 64},
                                   {4096, 8, 64},
                                   {4097, 8, 128},
                                   {16'384, 8, 256},
                                   {16'385, 10, 512},
                                   {262'144, 10, 4096},
                                   {1'000'000, 10, 4096}}) {
    Calendar calendar(SimTime::from_ps(width_ps), expected.entities);
    EXPECT_EQ(calendar.block_bits(), expected.block_bits) << expected.entities;
    EXPECT_EQ(calendar.resident_bytes(), 3 * expected.spans * bucket_bytes) << expected.entities;
    // The first event takes a slab of four chunks.
    calendar.insert(event_in(0));
    EXPECT_EQ(calendar.resident_bytes(),
              3 * expected.spans * bucket_bytes +
                  4 * (expected.block_bits == 8 ? small_chunk_bytes : large_chunk_bytes));
    ASSERT_EQ(calendar.next_window(), 0);
    calendar.take(0);
    const Calendar::List list = calendar.next_list();
    EXPECT_EQ(list.first, 0U);
    unsigned bits = expected.block_bits;
    while ((std::uint64_t{1} << bits) < expected.entities) {
      ++bits;
    }
    EXPECT_EQ(list.bits, bits) << expected.entities;
    calendar.release(list, list.chunks);
  }
}

TEST(CalendarSizes, SplitWindowsFromSoManyEventsOn) {
  struct Expected {
    std::uint32_t entities;
    std::uint32_t most;  // events of a window in one list
    std::size_t blocks;
  };
  for (const Expected& expected :
       {Expected{1024, 128, 4}, {257, 64, 2}, {512, 64, 2}, {513, 96, 3}, {20'480, 2560, 20}}) {
    Calendar calendar(SimTime::from_ps(width_ps), expected.entities);
    for (std::uint32_t i = 0; i < expected.most; ++i) {
      calendar.insert(event_in(1, i % expected.entities));
      calendar.insert(event_in(2, i % expected.entities));
      calendar.insert(event_in(3, i % expected.entities));
    }
    const std::size_t unsplit = calendar.resident_bytes();
    calendar.take(1);
    EXPECT_FALSE(calendar.takes_blocks()) << expected.entities;
    const Calendar::List list = calendar.next_list();
    EventChunk* last = list.chunks;
    while (last->next != nullptr) {
      last = last->next;
    }
    calendar.release(list, last);
    calendar.insert(event_in(2, 1));
    EXPECT_EQ(calendar.resident_bytes(), unsplit + expected.blocks * 16) << expected.entities;
    calendar.take(2);
    EXPECT_TRUE(calendar.takes_blocks()) << expected.entities;
    std::size_t lists = 0;
    for (Calendar::List block = calendar.next_list(); block.chunks != nullptr;
         block = calendar.next_list()) {
      EXPECT_EQ(block.bits, calendar.block_bits());
      EXPECT_EQ(block.first % (1U << block.bits), 0U);
      ++lists;
      EventChunk* end = block.chunks;
      while (end->next != nullptr) {
        end = end->next;
      }
      calendar.release(block, end);
    }
    EXPECT_EQ(lists,
              std::min<std::size_t>(expected.blocks, (expected.most >> calendar.block_bits()) + 1))
        << expected.entities;
    // The table of the first is taken again.
    calendar.insert(event_in(3, 1));
    EXPECT_EQ(calendar.resident_bytes(), unsplit + expected.blocks * 16) << expected.entities;
    EXPECT_EQ(take(calendar, 3), expected.most + 1);
    EXPECT_EQ(calendar.size(), 0U);
    EXPECT_EQ(calendar.largest_size(), 3 * expected.most);
  }
}

// Without blocks no window is split, however full.
TEST(CalendarSizes, KeepOneListOfOneBlock) {
  Calendar calendar(SimTime::from_ps(width_ps), 256);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    calendar.insert(event_in(1, i % 256));
  }
  calendar.take(1);
  EXPECT_FALSE(calendar.takes_blocks());
}

// A small machine has 64 windows a span and 64 spans ahead.
TEST(CalendarSizes, HoldFarEventsInBucketsAndFartherOnesInAHeap) {
  const auto bytes_with = [](WindowNumber window) {
    Calendar calendar(SimTime::from_ps(width_ps), 1);
    const std::size_t empty = calendar.resident_bytes();
    calendar.insert(event_in(window));
    EXPECT_EQ(calendar.next_window(), window);
    return calendar.resident_bytes() - empty;
  };
  EXPECT_EQ(bytes_with(127), 4 * small_chunk_bytes);
  EXPECT_EQ(bytes_with(128), 4 * small_chunk_bytes);
  EXPECT_EQ(bytes_with(4095), 4 * small_chunk_bytes);
  EXPECT_EQ(bytes_with(4096), 64U + 48U) << "a line of keys, and the event";
}

// The span that is entered and the next one, and no other.
TEST(CalendarSizes, DealOutTwoSpans) {
  Calendar calendar(SimTime::from_ps(width_ps), 1);
  calendar.insert(event_in(0));
  calendar.insert(event_in(3 * 64));
  for (int i = 0; i < 32; ++i) {
    calendar.insert(event_in(5 * 64));  // as many as fill four chunks
  }
  const std::size_t bytes = calendar.resident_bytes();
  EXPECT_EQ(take(calendar, 0), 1U);
  EXPECT_EQ(take(calendar, 3 * 64), 1U);
  EXPECT_EQ(calendar.resident_bytes(), bytes);
  EXPECT_EQ(take(calendar, 5 * 64), 32U);
}

// Wheels grow when four events a bucket went through the heap, and up to 1024 spans.
TEST(CalendarSizes, GrowAfterSoManyEventsInTheHeap) {
  const auto bytes_after = [](int events) {
    Calendar calendar(SimTime::from_ps(width_ps), 1);
    calendar.insert(event_in(0));
    calendar.insert(event_in(64));
    EXPECT_EQ(take(calendar, 0), 1U);
    for (int i = 0; i < events; ++i) {
      calendar.insert(event_in(4'000'000));
    }
    EXPECT_EQ(take(calendar, 64), 1U);
    EXPECT_EQ(calendar.size(), static_cast<std::uint64_t>(events));
    EXPECT_EQ(calendar.next_window(), 4'000'000);
    return calendar.resident_bytes();
  };
  const std::size_t before = bytes_after(511);
  const std::size_t after = bytes_after(512);
  EXPECT_EQ(after - before, 3 * (256 - 64) * bucket_bytes);
}

TEST(CalendarSizes, GrowNoFurtherThanAThousandSpans) {
  Calendar calendar(SimTime::from_ps(width_ps), 1);
  WindowNumber now = 0;
  calendar.insert(event_in(now));
  for (int i = 0; i < 60'000; ++i) {
    ASSERT_EQ(calendar.next_window(), now);
    calendar.take(now);
    const Calendar::List list = calendar.next_list();
    calendar.release(list, list.chunks);
    now += 5'000'000;
    calendar.insert(event_in(now));
  }
  EXPECT_EQ(calendar.resident_bytes(),
            3 * 1024 * bucket_bytes + 4 * small_chunk_bytes + 64 + 48 + 4);
}

TEST(CalendarSizes, CountTheMostThatWerePending) {
  Calendar calendar(SimTime::from_ps(width_ps), 1);
  EXPECT_EQ(calendar.largest_size(), 0U);
  for (const WindowNumber window : {1, 2, 2, 5000}) {
    calendar.insert(event_in(window));
  }
  EXPECT_EQ(calendar.size(), 4U);
  EXPECT_TRUE(calendar.take_lone(1, [](const Event&) {}));
  EXPECT_EQ(calendar.size(), 3U);
  EXPECT_EQ(calendar.largest_size(), 4U);
  EXPECT_EQ(take(calendar, 2), 2U);
  calendar.insert(event_in(5000));
  calendar.insert(event_in(5001));
  EXPECT_EQ(take(calendar, 5000), 2U);
  EXPECT_EQ(calendar.size(), 1U);
  EXPECT_EQ(calendar.largest_size(), 4U);
}

TEST(FarHeapSizes, CountKeysEventsAndFreePlaces) {
  FarHeap heap;
  EXPECT_EQ(heap.resident_bytes(), 0U);
  heap.push(event_in(1));
  EXPECT_EQ(heap.resident_bytes(), 64U + 48U);
  heap.push(event_in(2));
  EXPECT_EQ(heap.resident_bytes(), 2U * 64U + 2U * 48U) << "children begin a line";
  heap.pop();
  EXPECT_EQ(heap.resident_bytes(), 2U * 64U + 2U * 48U + 4U);
  heap.push(event_in(3));
  EXPECT_EQ(heap.resident_bytes(), 2U * 64U + 2U * 48U + 4U) << "in the place that is free";
}

// Twice as many slots when they are all taken; what comes early is held apart.
TEST(SelfQueueSizes, GrowByDoubling) {
  SelfQueue queue;
  const auto insert = [&](std::int64_t time) {
    queue.insert(SimTime::from_ps(time), [&](Event& event) {
      event = {};
      event.time = SimTime::from_ps(time);
    });
    return queue.resident_bytes() / 48;
  };
  EXPECT_EQ(queue.resident_bytes(), 0U);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(insert(10), 16U);
  }
  EXPECT_EQ(insert(10), 32U);
  EXPECT_EQ(insert(9), 33U);
  EXPECT_EQ(queue.run(nullptr, [](const Event&) {}), 18U);
  // Empty, it takes any time, and has room for as many as before.
  for (int i = 32; i > 0; --i) {
    EXPECT_EQ(insert(5), 33U);
  }
}

}  // namespace
}  // namespace tessera::pdes::calendar_sizes_test
