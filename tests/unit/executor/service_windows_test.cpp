// Windows of a service over time.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tessera/executor/service_windows.hpp"

namespace tessera::executor::service_windows_test {
namespace {

constexpr SimTime us(std::int64_t count) {
  return SimTime::from_ps(count * 1'000'000);
}

TEST(ServiceWindows, WidenAsTimeGoesOn) {
  ServiceWindows windows;
  for (std::int64_t at = 0; at < 1000; ++at) {
    windows.arrive(us(at));
    windows.give_token(us(at));
    windows.serve(us(at), us(2), us(1), us(5), at % 2 == 0);
  }
  EXPECT_EQ(windows.width(), us(16));
  EXPECT_EQ(windows.all().size(), 63U);  // 1000 / 16, rounded up
  std::uint64_t arrived = 0;
  for (const ServiceWindow& window : windows.all()) {
    EXPECT_EQ(window.served, window.arrived);
    EXPECT_EQ(window.met, window.arrived / 2);
    EXPECT_EQ(window.first_token.count(), window.arrived);
    EXPECT_EQ(window.latency.count(), window.arrived);
    EXPECT_EQ(window.latency.most(), 5'000'000U);
    arrived += window.arrived;
  }
  EXPECT_EQ(windows.all().front().arrived, 16U);
  EXPECT_EQ(windows.all().back().arrived, 8U);
  EXPECT_EQ(arrived, 1000U);
}

// Each load counts for as long as it lasts, whatever the windows then are.
TEST(ServiceWindows, AddUpLoads) {
  ServiceWindows windows;
  windows.hold(us(3), {1, 2, 10});
  windows.hold(us(5), {4, 0, 20});
  windows.hold(us(500), {0, 0, 0});
  windows.hold(us(900), {7, 7, 7});
  const auto sum = [&](Wide ServiceWindow::*of) {
    return std::accumulate(windows.all().begin(), windows.all().end(), Wide{0},
                           [of](Wide all, const ServiceWindow& one) { return all + one.*of; });
  };
  constexpr std::uint64_t a_us = 1'000'000;
  EXPECT_TRUE(sum(&ServiceWindow::running) == Wide{(2 * 1 + 495 * 4) * a_us});
  EXPECT_TRUE(sum(&ServiceWindow::waiting) == Wide{2 * 2 * a_us});
  EXPECT_TRUE(sum(&ServiceWindow::cache_blocks) == Wide{(2 * 10 + 495 * 20) * a_us});
  EXPECT_TRUE(windows.all().front().running == Wide{(2 * 1 + 11 * 4) * a_us});
}

TEST(ServiceWindows, EndWithTheService) {
  ServiceWindows windows;
  EXPECT_EQ(windows.last_width(), SimTime::zero());
  windows.hold(us(3), {1, 0, 10});
  EXPECT_EQ(windows.last_width(), SimTime::zero());  // it begins then
  windows.hold(us(900), {});
  EXPECT_EQ(windows.width(), us(16));
  EXPECT_EQ(windows.last_width(), us(900 - 56 * 16));
  EXPECT_EQ(windows.all().size(), 57U);
}

TEST(ServiceWindows, GoOnFromACheckpoint) {
  ServiceWindows windows;
  windows.hold(us(3), {1, 2, 10});
  windows.serve(us(70), us(2), std::nullopt, us(9), true);
  pdes::StateWriter writer;
  windows.save(writer);
  ServiceWindows after;
  pdes::StateReader reader(writer.bytes());
  after.restore(reader);
  for (ServiceWindows* const one : {&windows, &after}) {
    one->hold(us(200), {});
  }
  ASSERT_EQ(after.all().size(), windows.all().size());
  EXPECT_EQ(after.width(), windows.width());
  for (std::size_t i = 0; i < after.all().size(); ++i) {
    EXPECT_EQ(after.all()[i].served, windows.all()[i].served);
    EXPECT_EQ(after.all()[i].latency.mean(), windows.all()[i].latency.mean());
    EXPECT_TRUE(after.all()[i].running == windows.all()[i].running);
  }
}

// However many requests there are.
TEST(ServiceWindows, HoldNoMoreThanTheyArePredictedTo) {
  std::vector<std::size_t> most;
  for (const std::int64_t requests : {1'000, 600'000, 2'400'000}) {
    ServiceWindows windows;
    most.push_back(0);
    for (std::int64_t number = 0; number < requests; ++number) {
      const SimTime time = us(20 + number * number % 977);
      windows.serve(us(number), time, time * 2, time * 3, true);
      if (number % 1000 == 0) {
        most.back() = std::max(most.back(), windows.resident_bytes());
      }
    }
    EXPECT_LE(most.back(), ServiceWindows::predicted_bytes(static_cast<std::uint64_t>(requests)));
    const TimeDistribution& last = windows.all()[1].latency;
    EXPECT_EQ(last.is_exact(), last.count() <= ServiceWindow::most_exact);
    EXPECT_NEAR(static_cast<double>(last.percentiles({100}).front()),
                static_cast<double>(last.most()), 0.0005 * static_cast<double>(last.most()));
  }
  EXPECT_LT(most[2], most[1] + most[1] / 10);
  EXPECT_LT(most[2], 20'000'000U);
}

// Replicas come and go beside what else is held.
TEST(ServiceWindows, AddUpReplicas) {
  ServiceWindows windows;
  windows.begin_with(2);
  windows.hold(us(3), {1, 0, 0, 2});
  windows.hold_replicas(us(5), 3);
  windows.hold(us(9), {0, 0, 0, 1});
  windows.hold(us(10), {0, 0, 0, 1});
  Wide replicas = 0;
  Wide running = 0;
  for (const ServiceWindow& window : windows.all()) {
    replicas += window.replicas;
    running += window.running;
  }
  constexpr std::uint64_t a_us = 1'000'000;
  EXPECT_TRUE(replicas == Wide{(3 * 2 + 2 * 2 + 4 * 3 + 1) * a_us});
  EXPECT_TRUE(running == Wide{6 * a_us});
}

}  // namespace
}  // namespace tessera::executor::service_windows_test
