#include "tessera/pdes/calendar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <span>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"

namespace tessera::pdes::calendar_test {
namespace {

constexpr std::int64_t width_ps = 1000;
constexpr std::uint32_t entities = 300'000;        // makes spans of 4096 windows
constexpr std::int64_t span_ps = 4096 * width_ps;  // one bucket of the middle distance

Event event_at(std::int64_t ps, std::uint32_t sequence = 0) {
  Event event;
  event.time = SimTime::from_ps(ps);
  event.source = EntityId(1);
  event.sequence = sequence;
  return event;
}

std::vector<Event> events_of(Calendar& calendar, WindowNumber window) {
  std::vector<Event> events;
  calendar.take(window);
  for (Calendar::List list = calendar.next_list(); list.chunks != nullptr;
       list = calendar.next_list()) {
    EventChunk* last = nullptr;
    for (EventChunk* chunk = list.chunks; chunk != nullptr; chunk = chunk->next) {
      last = chunk;
      for (const Event& event : std::span(chunk->events(), chunk->count)) {
        EXPECT_EQ(event.target >> list.bits, list.first >> list.bits);
        events.push_back(event);
      }
    }
    calendar.release(list, last);
  }
  std::sort(events.begin(), events.end(), handled_before);
  return events;
}

struct Later {
  bool operator()(const Event& a, const Event& b) const { return handled_before(b, a); }
};
using Reference = std::priority_queue<Event, std::vector<Event>, Later>;

// Takes one window of both and compares them; gives the start of the window.
std::int64_t compare_window(Calendar& calendar, Reference& reference) {
  const WindowNumber window = calendar.next_window();
  EXPECT_EQ(window, calendar.window_of(reference.top().time));
  for (const Event& event : events_of(calendar, window)) {
    EXPECT_FALSE(reference.empty());
    EXPECT_EQ(event.time, reference.top().time);
    EXPECT_EQ(event.sequence, reference.top().sequence);
    reference.pop();
  }
  EXPECT_EQ(calendar.size(), reference.size());
  return window * width_ps;
}

// Delays from inside the window to beyond all buckets (4096 spans ahead), on a logarithmic scale.
std::int64_t any_delay(RandomStream& random) {
  const std::uint64_t digits = random.next_below(46);
  return static_cast<std::int64_t>(random.next_below(std::uint64_t{1} << digits));
}

void agree_for_near_and_far_times(std::uint32_t entities_there) {
  Calendar calendar(SimTime::from_ps(width_ps), entities_there);
  Reference reference;
  RandomStream random(7, EntityId(0), 0);
  std::uint32_t sequence = 0;
  const auto insert = [&](std::int64_t time) {
    const Event event = event_at(time, sequence++);
    calendar.insert(event);
    reference.push(event);
  };
  for (int i = 0; i < 500; ++i) {
    insert(any_delay(random));
  }
  for (int round = 0; round < 20'000 && !reference.empty(); ++round) {
    const std::int64_t now = compare_window(calendar, reference);
    ASSERT_FALSE(::testing::Test::HasFailure());
    // From the next window on, as the engine's events to other entities.
    const std::uint64_t fresh = round < 15'000 ? random.next_below(3) : 0;
    for (std::uint64_t i = 0; i < fresh; ++i) {
      insert(now + width_ps + any_delay(random));
    }
  }
  while (!reference.empty()) {
    compare_window(calendar, reference);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_EQ(calendar.next_window(), no_window);
  EXPECT_EQ(calendar.size(), 0U);
  EXPECT_GT(calendar.largest_size(), 400U);
}

TEST(Calendar, AgreesWithAPriorityQueueForNearAndFarTimes) {
  agree_for_near_and_far_times(entities);
}

// Its wheels are short at first, and grow twice.
TEST(Calendar, AgreesWithAPriorityQueueOnASmallMachine) {
  agree_for_near_and_far_times(1);
}

TEST(Calendar, AgreesWithAPriorityQueueWhileFullWindowsAreSplit) {
  Calendar calendar(SimTime::from_ps(width_ps), 1024);  // four blocks, split from 128 events on
  Reference reference;
  std::uint32_t sequence = 0;
  const auto insert = [&](std::int64_t time) {
    Event event = event_at(time, sequence++);
    event.target = event.sequence % 1024;
    calendar.insert(event);
    reference.push(event);
  };
  for (std::int64_t round = 0; round < 200; ++round) {
    // Spans of 64 windows: one window that is full and near, and some beyond the second wheel.
    const std::int64_t now = round * 64 * width_ps;
    for (int i = 0; i < 300; ++i) {
      insert(now + 70 * width_ps + i);
    }
    for (int i = 0; i < 20; ++i) {
      insert(now + (5000 + 13 * i) * width_ps);
    }
    while (!reference.empty() && reference.top().time.ps() < now + 64 * width_ps) {
      compare_window(calendar, reference);
      ASSERT_FALSE(HasFailure());
    }
  }
  while (!reference.empty()) {
    compare_window(calendar, reference);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Calendar, GrowsOnlyWhereManyEventsLieFarAhead) {
  const auto bytes_after = [](std::int64_t windows_ahead) {
    Calendar calendar(SimTime::from_ps(width_ps), 100);
    std::int64_t now = 0;
    calendar.insert(event_at(0));
    for (int i = 0; i < 20'000; ++i) {
      EXPECT_EQ(events_of(calendar, calendar.next_window()).size(), 1U);
      now += windows_ahead * width_ps;
      calendar.insert(event_at(now));
    }
    return calendar.resident_bytes();
  };
  const std::size_t short_wheels = bytes_after(4000);  // 64 spans of 64 windows reach 4096
  EXPECT_LE(bytes_after(1), short_wheels);
  EXPECT_LT(short_wheels, 8192U);
  const std::size_t buckets = 3 * (1024 - 64);
  EXPECT_GT(bytes_after(100'000), short_wheels + buckets * 8);
}

TEST(Calendar, HoldsManyEventsOfOneWindow) {
  Calendar calendar(SimTime::from_ps(width_ps), entities);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    calendar.insert(event_at(5 * width_ps + i % width_ps, i));
  }
  ASSERT_EQ(calendar.next_window(), 5);
  EXPECT_EQ(events_of(calendar, 5).size(), 10'000U);
  EXPECT_EQ(calendar.next_window(), no_window);
}

// Near, in the span of spans and beyond; what comes in while it is handled stays.
TEST(Calendar, TakesALoneEventInPlace) {
  for (const std::int64_t time : {7 * width_ps + 1, 3 * span_ps, 9000 * span_ps}) {
    Calendar calendar(SimTime::from_ps(width_ps), entities);
    calendar.insert(event_at(time, 1));
    const WindowNumber window = calendar.next_window();
    EXPECT_TRUE(calendar.take_lone(window, [&](const Event& event) {
      EXPECT_EQ(calendar.size(), 0U);
      calendar.insert(event_at(time + width_ps, 2));
      calendar.insert(event_at(time + 2 * span_ps, 3));
      EXPECT_EQ(event.time.ps(), time);
      EXPECT_EQ(event.sequence, 1U);
    }));
    EXPECT_EQ(calendar.size(), 2U);
    EXPECT_EQ(calendar.next_window(), window + 1);
    EXPECT_TRUE(
        calendar.take_lone(window + 1, [](const Event& event) { EXPECT_EQ(event.sequence, 2U); }));
    EXPECT_EQ(events_of(calendar, calendar.next_window()).size(), 1U);
    EXPECT_EQ(calendar.next_window(), no_window);
  }
}

TEST(Calendar, TakesNoLoneEventWhereThereAreTwo) {
  Calendar calendar(SimTime::from_ps(width_ps), entities);
  calendar.insert(event_at(3 * span_ps, 1));
  calendar.insert(event_at(3 * span_ps + 1, 2));
  const WindowNumber window = calendar.next_window();
  EXPECT_FALSE(calendar.take_lone(window, [](const Event&) { ADD_FAILURE(); }));
  EXPECT_EQ(events_of(calendar, window).size(), 2U);
}

// A rank looks at its next window, far away, and then hears of an earlier event.
TEST(Calendar, TakesEarlierEventsAfterAPeek) {
  for (const std::int64_t far :
       {10 * width_ps, 3 * span_ps, 5000 * span_ps, 20'000 * span_ps + 17}) {
    Calendar calendar(SimTime::from_ps(width_ps), entities);
    calendar.insert(event_at(0));
    ASSERT_EQ(events_of(calendar, 0).size(), 1U);
    calendar.insert(event_at(far, 9));
    ASSERT_EQ(calendar.next_window(), far / width_ps);
    for (std::int64_t earlier = far / 2, n = 1; n < 4; earlier /= 3, ++n) {
      calendar.insert(event_at(earlier, static_cast<std::uint32_t>(n)));
      ASSERT_EQ(calendar.next_window(), earlier / width_ps);
    }
    std::vector<std::uint32_t> order;
    while (calendar.size() > 0) {
      for (const Event& event : events_of(calendar, calendar.next_window())) {
        order.push_back(event.sequence);
      }
    }
    EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 2, 1, 9})) << far;
  }
}

// The first window of a span is known although the span lies in one bucket.
TEST(Calendar, FindsTheFirstWindowOfAFarSpan) {
  Calendar calendar(SimTime::from_ps(width_ps), entities);
  calendar.insert(event_at(100 * span_ps + 900 * width_ps));
  calendar.insert(event_at(100 * span_ps + 20 * width_ps));
  calendar.insert(event_at(100 * span_ps + 4000 * width_ps));
  EXPECT_EQ(calendar.next_window(), 100 * 4096 + 20);
  EXPECT_EQ(events_of(calendar, 100 * 4096 + 20).size(), 1U);
  EXPECT_EQ(calendar.next_window(), 100 * 4096 + 900);
}

TEST(Calendar, ReusesItsMemory) {
  Calendar calendar(SimTime::from_ps(width_ps), entities);
  std::size_t bytes = 0;
  for (std::int64_t window = 0; window < 10'000; ++window) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      calendar.insert(event_at(window * width_ps + i, i));
    }
    ASSERT_EQ(events_of(calendar, window).size(), 50U);
    if (window == 0) {
      bytes = calendar.resident_bytes();
    }
  }
  EXPECT_EQ(calendar.resident_bytes(), bytes);
}

TEST(Calendar, NeedsAWindowOfSomeLength) {
  EXPECT_THROW(Calendar(SimTime::zero(), entities), InternalError);
}

// Enough events in a window for a list a block, on a small machine and on a large one; some are
// there before the window is split, some come from a span that is dealt out.
TEST(Calendar, SplitsFullWindowsByBlocksOfEntities) {
  for (const std::uint32_t count : {1U, 256U, 257U, 4096U, 16'384U, 16'385U, 50'000U}) {
    Calendar calendar(SimTime::from_ps(width_ps), count);
    RandomStream random(3, EntityId(0), 0);
    const std::int64_t window = 40'000;
    const std::uint64_t events = 40U * count + 100;
    std::uint64_t targets = 0;
    for (std::uint64_t i = 0; i < events; ++i) {
      Event event = event_at(window * width_ps + static_cast<std::int64_t>(i % 1000),
                             static_cast<std::uint32_t>(i));
      event.target = static_cast<std::uint32_t>(random.next_below(count));
      targets += event.target;
      calendar.insert(event);
      if (i == events / 2) {  // brings the span near
        calendar.insert(event_at((window - 1) * width_ps));
        ASSERT_EQ(events_of(calendar, window - 1).size(), 1U);
      }
    }
    std::uint64_t visited = 0;
    calendar.visit([&](const Event& event) { visited += event.target; });
    EXPECT_EQ(visited, targets);
    ASSERT_EQ(calendar.next_window(), window);
    for (const Event& event : events_of(calendar, window)) {
      targets -= event.target;
    }
    EXPECT_EQ(targets, 0U);
    EXPECT_EQ(calendar.size(), 0U);
  }
}

TEST(WindowClock, AgreesWithDivision) {
  RandomStream random(11, EntityId(0), 0);
  const auto any = [&] {
    const std::uint64_t digits = random.next_below(~std::uint64_t{0}) >> 2;
    return static_cast<std::int64_t>(digits >> random.next_below(62));
  };
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t width = any() + 1;
    const WindowClock clock(SimTime::from_ps(width));
    const std::int64_t time = any();
    ASSERT_EQ(clock.window_of(SimTime::from_ps(time)), time / width) << time << " / " << width;
    const std::int64_t edge = time / width * width;
    ASSERT_EQ(clock.window_of(SimTime::from_ps(edge)), edge / width);
    if (edge > 0) {
      ASSERT_EQ(clock.window_of(SimTime::from_ps(edge - 1)), edge / width - 1);
    }
  }
  EXPECT_EQ(WindowClock(SimTime::from_ps(1)).window_of(SimTime::never()), no_window);
}

TEST(HandledBefore, OrdersByTimeThenSourceThenSequence) {
  const auto make = [](std::int64_t ps, std::uint32_t source, std::uint32_t sequence) {
    Event event = event_at(ps, sequence);
    event.source = EntityId(source);
    return event;
  };
  EXPECT_TRUE(handled_before(make(1, 9, 9), make(2, 0, 0)));
  EXPECT_TRUE(handled_before(make(2, 0, 9), make(2, 1, 0)));
  EXPECT_TRUE(handled_before(make(2, 1, 0), make(2, 1, 1)));
  EXPECT_FALSE(handled_before(make(2, 1, 1), make(2, 1, 1)));
}

TEST(HandledBefore, ComparesSequencesAcrossTheWrap) {
  const Event old = event_at(5, 0xFFFFFFFEU);
  const Event young = event_at(5, 3);
  EXPECT_TRUE(handled_before(old, young));
  EXPECT_FALSE(handled_before(young, old));
}

TEST(Port, KeepsComponentAndKindInSevenBits) {
  for (unsigned component = 0; component < Port::max_components; ++component) {
    for (unsigned kind = 0; kind < Port::max_kinds; ++kind) {
      const Port port(component, kind);
      EXPECT_LT(port.code(), 0x80);
      EXPECT_EQ(Port::from_code(port.code()), port);
      EXPECT_EQ(port.component(), component);
      EXPECT_EQ(port.kind(), kind);
    }
  }
}

}  // namespace
}  // namespace tessera::pdes::calendar_test
