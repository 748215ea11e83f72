#include "search/ring_floor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::explore::ring_floor_test {
namespace {

// When the last member ends, where member i begins at starts[i] and each sends on what it received,
// one chunk after the other on each way.
double end_of_last(const std::vector<Way>& ways, const std::vector<double>& starts, int steps,
                   double chunk) {
  const std::size_t size = ways.size();
  std::vector<double> free(size, 0);
  std::vector<double> ready = starts;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> next(size);
    for (std::size_t from = 0; from < size; ++from) {
      const double begins = std::max(ready[from], free[from]);
      free[from] = begins + chunk * ways[from].ps_per_byte;
      const std::size_t to = (from + 1) % size;
      next[to] = std::max(starts[to], free[from] + ways[from].latency);
    }
    // A member takes what comes after what it has sent itself.
    ready = next;
  }
  return *std::max_element(ready.begin(), ready.end());
}

TEST(RingFloor, IsTheTimeOfEqualWays) {
  const std::vector<Way> ways(4, {10, 2});
  const RingFloor floor(ways);
  EXPECT_DOUBLE_EQ(floor.least(3, 100, true), 3 * (10 + 200));
  EXPECT_DOUBLE_EQ(floor.least(6, 100, false), 6 * (10 + 200));
  EXPECT_DOUBLE_EQ(end_of_last(ways, {0, 0, 0, 0}, 6, 100), 6 * 210);
}

TEST(RingFloor, CountsTheSlowestWayOnceAStep) {
  // Two servers of four.
  const Way inside{10, 1};
  const Way between{1000, 20};
  const RingFloor floor({inside, inside, inside, between, inside, inside, inside, between});
  // Three members behind, eleven chunks of fourteen.
  EXPECT_DOUBLE_EQ(floor.least(14, 1000, true), 1000 + 11 * 20000);
  EXPECT_DOUBLE_EQ(floor.least(14, 1000, false), 2 * (6 * 10 + 1000 + 1000 * (6 + 20)));
}

TEST(RingFloor, HoldsWhoeverBeginsLast) {
  const std::vector<Way> ways{{10, 1}, {300, 8}, {10, 1}, {25, 3}, {300, 8}, {40, 8}};
  const RingFloor floor(ways);
  for (const int steps : {5, 10}) {
    for (const double chunk : {0.0, 1.0, 40.0, 1000.0}) {
      for (std::size_t late = 0; late < ways.size(); ++late) {
        for (const double by : {0.0, 100.0, 5000.0, 1e6}) {
          std::vector<double> starts(ways.size(), 0);
          starts[late] = by;
          EXPECT_GE(end_of_last(ways, starts, steps, chunk) - by,
                    floor.least(steps, chunk, true) * (1 - 1e-12))
              << steps << " steps of " << chunk << " bytes, member " << late << " by " << by;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::explore::ring_floor_test
