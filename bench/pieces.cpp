// The small pieces of the engine, each alone, with Google Benchmark.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "reference/queue.hpp"
#include "take_window.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/random.hpp"
#include "tessera/pdes/calendar.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {
namespace {

constexpr SimTime width = SimTime::from_ps(1000);
constexpr std::uint64_t seed = 0x5eed;

// Spread over ten windows, as in PHOLD.
pdes::Event event_number(std::uint32_t number) {
  pdes::Event event;
  event.target = number;
  event.source = EntityId(number);
  event.sequence = 1;
  event.time = SimTime::from_ps(
      static_cast<std::int64_t>(below(static_cast<std::uint32_t>(draw(seed, event.source, 0)),
                                      static_cast<std::uint32_t>(10 * width.ps()))));
  return event;
}

// Takes a window and puts each of its events back ten windows later; an item is one event.
void calendar_insert_and_take(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  pdes::Calendar calendar(width, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    calendar.insert(event_number(i));
  }
  std::int64_t handled = 0;
  for (auto _ : state) {
    take_window(calendar, calendar.next_window(), [&](const pdes::Event& taken) {
      pdes::Event event = taken;
      event.time += width * 10;
      calendar.insert(event);
      ++handled;
    });
  }
  state.SetItemsProcessed(handled);
}
BENCHMARK(calendar_insert_and_take)->RangeMultiplier(16)->Range(16, 1 << 20);

// The same for the reference.
void queue_insert_and_take(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  reference::EventQueue queue(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    queue.push(event_number(i));
  }
  for (auto _ : state) {
    pdes::Event event = queue.top();
    queue.pop();
    event.time += width * 10;
    queue.push(event);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(queue_insert_and_take)->RangeMultiplier(16)->Range(16, 1 << 20);

void event_ordering(benchmark::State& state) {
  constexpr std::uint32_t count = 1024;
  std::vector<pdes::Event> events;
  for (std::uint32_t i = 0; i < count; ++i) {
    events.push_back(event_number(i));
  }
  for (auto _ : state) {
    std::uint32_t before = 0;
    for (std::uint32_t i = 1; i < count; ++i) {
      before += pdes::handled_before(events[i - 1], events[i]) ? 1 : 0;
    }
    benchmark::DoNotOptimize(before);
  }
  state.SetItemsProcessed(state.iterations() * (count - 1));
}
BENCHMARK(event_ordering);

void digest_add(benchmark::State& state) {
  Digest digest;
  std::uint64_t number = 0;
  for (auto _ : state) {
    digest.add({number, number + 1, number + 2, number + 3});
    ++number;
  }
  benchmark::DoNotOptimize(digest);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(digest_add);

void random_stream_draw(benchmark::State& state) {
  RandomStream random(seed, EntityId(1), 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(random.next_u64());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(random_stream_draw);

void model_draw(benchmark::State& state) {
  std::uint64_t counter = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(draw(seed, EntityId(1), counter++));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(model_draw);

}  // namespace
}  // namespace tessera::bench
