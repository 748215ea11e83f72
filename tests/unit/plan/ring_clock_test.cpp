#include "ring_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::plan::ring_clock_test {
namespace {

RingLink way(std::int64_t latency_ps, std::uint64_t bytes_per_second, std::uint32_t messages = 1) {
  RingLink made{SimTime::from_ps(latency_ps), {}};
  made.add(Bandwidth::bytes_per_second(bytes_per_second), messages);
  return made;
}

// Every member and every step.
SimTime step_by_step(const std::vector<RingLink>& links, const std::vector<Bytes>& first,
                     std::uint32_t steps) {
  const std::size_t members = links.size();
  std::vector<SimTime> ready(members);
  std::vector<SimTime> free(members);
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<SimTime> next = ready;
    for (std::size_t i = 0; i < members; ++i) {
      const std::size_t from = (i + members - 1) % members;
      const Bytes bytes = first[(i + members - step % members) % members];
      free[i] = std::max(free[i], ready[from]) + links[i].on_links(bytes);
      next[i] = std::max(ready[i], free[i] + links[i].latency);
    }
    ready = next;
  }
  return *std::max_element(ready.begin(), ready.end());
}

void expect_exact(const std::vector<RingLink>& links, const std::vector<Bytes>& first) {
  for (const std::uint32_t steps : {1U, 5U, 11U, 22U}) {
    EXPECT_EQ(RingClock(links, first).time(steps), step_by_step(links, first, steps)) << steps;
  }
}

TEST(RingClock, OfLinksThatAreAlike) {
  const std::vector<RingLink> links(12, way(500, 3'000'000'000));
  expect_exact(links, std::vector<Bytes>(12, Bytes(7001)));
  std::vector<Bytes> mixed(12, Bytes(7001));
  mixed[3] = mixed[4] = Bytes(7002);
  expect_exact(links, mixed);
  EXPECT_EQ(RingClock(links, mixed).time(10),
            (SimTime::from_ps(500) + links[0].on_links(Bytes(7002))) * 10);
}

TEST(RingClock, OfLinksThatRepeat) {
  std::vector<RingLink> links;
  for (int server = 0; server < 3; ++server) {
    links.push_back(way(90'000, 700'000'000));
    for (int i = 0; i < 3; ++i) {
      links.push_back(way(500, 9'000'000'000));
    }
  }
  expect_exact(links, std::vector<Bytes>(12, Bytes(7001)));
  expect_exact(links, std::vector<Bytes>(12, Bytes(0)));
  std::vector<Bytes> mixed(12, Bytes(7001));
  mixed[0] = Bytes(7002);
  expect_exact(links, mixed);
}

TEST(RingClock, OfAnyLinks) {
  std::vector<RingLink> links;
  std::vector<Bytes> first;
  for (std::uint64_t i = 0; i < 11; ++i) {
    links.push_back(way(static_cast<std::int64_t>(i * i * 700 % 5000), 1'000'000'000 + i * 77));
    first.emplace_back(i < 4 ? 301 : 300);
  }
  expect_exact(links, first);
}

TEST(RingLink, TakesAsLongAsItsSlowestLink) {
  RingLink slow = way(0, 1'000'000'000, 1);
  slow.add(Bandwidth::bytes_per_second(1'000'000'000), 3);
  slow.add(Bandwidth::bytes_per_second(5'000'000'000), 4);
  EXPECT_EQ(slow.on_links(Bytes(1000)), SimTime::from_ps(3'000'000));
}

}  // namespace
}  // namespace tessera::plan::ring_clock_test
