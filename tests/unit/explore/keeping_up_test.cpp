// Whether a service keeps up with its requests.
#include "capacity/keeping_up.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tessera::explore::keeping_up_test {
namespace {

constexpr std::uint64_t windows = 32;

// `arrived` a window for 32 windows. Of these as many as `served` gives for a window end in it, the
// others behind the last arrival.
template <class Served>
trace::Service service_with(std::uint64_t arrived, Served served) {
  trace::Service service;
  service.window_ps = 1000;
  std::uint64_t left = windows * arrived;
  for (std::uint64_t number = 0; number < windows; ++number) {
    trace::ServiceWindow& window = service.windows.emplace_back();
    window.arrived = arrived;
    window.served = served(number);
    left -= window.served;
  }
  service.windows.emplace_back().served = left;
  service.served = windows * arrived;
  return service;
}

TEST(KeepingUp, IsSeenWhereAsManyEndAsArrive) {
  // Four windows long all that arrives stays.
  const trace::Service steady =
      service_with(10, [](std::uint64_t number) { return number < 4 ? 0 : 10; });
  EXPECT_EQ(pace_of(steady), Pace::kept);
  EXPECT_EQ(arrival_time_of(steady), 32'000);
  // Of 1600 in the middle half 16 more may stay, and 20 by chance.
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t) { return 98; })), Pace::kept);
}

// 5 % were borne, which is a queue without end.
TEST(KeepingUp, FewPercentMoreThanEndAreLost) {
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t) { return 96; })), Pace::lost);
  EXPECT_EQ(pace_of(service_with(10'000, [](std::uint64_t) { return 9'880; })), Pace::lost);
  EXPECT_EQ(pace_of(service_with(10'000, [](std::uint64_t) { return 9'930; })), Pace::kept);
}

// 80 more than their share came in the middle half, most of which are there at the end of it.
TEST(KeepingUp, WhatCameByChanceIsNoGrowth) {
  trace::Service service = service_with(100, [](std::uint64_t) { return 100; });
  for (std::uint64_t number = 8; number < 24; ++number) {
    service.windows[number].arrived += number % 2 == 0 ? 10 : 0;
  }
  EXPECT_EQ(pace_of(service), Pace::kept);
  // As many that are served late.
  service =
      service_with(100, [](std::uint64_t number) { return number >= 8 && number < 24 ? 95 : 100; });
  EXPECT_EQ(pace_of(service), Pace::lost);
}

TEST(KeepingUp, IsLostWhereNoMoreEndThanBefore) {
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t) { return 90; })), Pace::lost);
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t) { return 10; })), Pace::lost);
}

TEST(KeepingUp, IsNotShownByABurst) {
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t) { return 0; })), Pace::not_shown);
  // Still filling.
  EXPECT_EQ(pace_of(service_with(100, [](std::uint64_t number) { return 3 * number; })),
            Pace::not_shown);
  trace::Service at_once = service_with(0, [](std::uint64_t) { return 0; });
  at_once.windows.front().arrived = 100;
  at_once.windows.back().served = 100;
  at_once.served = 100;
  EXPECT_EQ(pace_of(at_once), Pace::not_shown);
}

// Few requests that came more slowly than their rate for a while.
TEST(KeepingUp, IsNotShownWhereManyWait) {
  trace::Service service = service_with(10, [](std::uint64_t) { return 10; });
  for (trace::ServiceWindow& window : service.windows) {
    window.waiting = 20;
  }
  EXPECT_EQ(pace_of(service), Pace::not_shown);
  for (trace::ServiceWindow& window : service.windows) {
    window.waiting = 9;
  }
  EXPECT_EQ(pace_of(service), Pace::kept);
}

// Chance moves a request or two.
TEST(KeepingUp, OneRequestMoreIsNoGrowth) {
  EXPECT_EQ(pace_of(service_with(1, [](std::uint64_t number) { return number == 20 ? 0 : 1; })),
            Pace::kept);
  trace::Service single;
  single.windows.emplace_back().arrived = 1;
  single.windows.back().served = 1;
  single.served = 1;
  EXPECT_EQ(pace_of(single), Pace::kept);
  EXPECT_EQ(pace_of(trace::Service()), Pace::kept);
}

}  // namespace
}  // namespace tessera::explore::keeping_up_test
