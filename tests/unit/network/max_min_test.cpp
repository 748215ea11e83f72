#include "max_min.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace tessera::network {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;

using Links = std::vector<MaxMin::Link>;

void solve(MaxMin& shares) {
  shares.solve([](MaxMin::Flow, double) {});
}

TEST(MaxMin, OneLinkIsSharedByWeight) {
  MaxMin shares({12.0});
  shares.add(0, Links{0}, 1, MaxMin::no_limit);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  solve(shares);
  EXPECT_THAT(shares.rate(0), DoubleEq(6));
  shares.add(2, Links{0}, 2, MaxMin::no_limit);
  solve(shares);
  EXPECT_THAT(shares.rate(1), DoubleEq(3));
  EXPECT_THAT(shares.rate(2), DoubleEq(6));
  shares.remove(0);
  shares.remove(2);
  solve(shares);
  EXPECT_THAT(shares.rate(1), DoubleEq(12));
}

// Bertsekas and Gallager's example: what one link leaves goes to those that can use it.
TEST(MaxMin, WhatIsLeftGoesToTheOthers) {
  MaxMin shares({1.0, 2.0});
  shares.add(0, Links{0, 1}, 1, MaxMin::no_limit);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  shares.add(2, Links{1}, 1, MaxMin::no_limit);
  solve(shares);
  EXPECT_THAT(shares.rate(0), DoubleEq(0.5));
  EXPECT_THAT(shares.rate(1), DoubleEq(0.5));
  EXPECT_THAT(shares.rate(2), DoubleEq(1.5));
}

TEST(MaxMin, LimitsLeaveMoreToOthers) {
  MaxMin shares({9.0});
  shares.add(0, Links{0}, 1, 1.0);
  shares.add(1, Links{0}, 1, MaxMin::no_limit);
  shares.add(2, Links{0}, 1, 100.0);
  solve(shares);
  EXPECT_THAT(shares.rate(0), DoubleEq(1));
  EXPECT_THAT(shares.rate(1), DoubleEq(4));
  EXPECT_THAT(shares.rate(2), DoubleEq(4));
}

TEST(MaxMin, HearsOnlyOfRatesThatChange) {
  MaxMin shares({10.0, 10.0});
  shares.add(0, Links{0}, 1, MaxMin::no_limit);
  shares.add(1, Links{1}, 1, MaxMin::no_limit);
  solve(shares);
  std::map<MaxMin::Flow, double> changed;
  shares.add(2, Links{1}, 1, MaxMin::no_limit);
  shares.solve([&](MaxMin::Flow flow, double rate) { changed[flow] = rate; });
  EXPECT_EQ(changed, (std::map<MaxMin::Flow, double>{{1, 5.0}, {2, 5.0}}));
}

// In any sharing of random flows: no link carries more than it can, and every flow is on a full
// link on which nobody of its weight has more, or at its limit. And what came and went before
// leaves no trace.
TEST(MaxMin, IsFairWhateverCameBefore) {
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % below;
  };
  constexpr std::size_t links = 12;
  std::vector<double> capacities;
  for (std::size_t link = 0; link < links; ++link) {
    capacities.push_back(static_cast<double>(1 + random(20)));
  }
  struct Made {
    Links route;
    double weight = 1;
    double limit = MaxMin::no_limit;
  };
  MaxMin shares(capacities);
  std::map<MaxMin::Flow, Made> flows;
  MaxMin::Flow next = 0;
  for (int step = 0; step < 400; ++step) {
    if (flows.size() > 5 && random(3) == 0) {
      auto victim = flows.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random(flows.size())));
      shares.remove(victim->first);
      flows.erase(victim);
    } else {
      Made made;
      for (std::uint32_t link = 0; link < links; ++link) {
        if (random(4) == 0) {
          made.route.push_back(link);
        }
      }
      if (made.route.empty()) {
        made.route.push_back(static_cast<MaxMin::Link>(random(links)));
      }
      made.weight = static_cast<double>(1 + random(3));
      made.limit = random(4) == 0 ? static_cast<double>(1 + random(5)) : MaxMin::no_limit;
      shares.add(next, made.route, made.weight, made.limit);
      flows[next++] = made;
    }
    solve(shares);
    for (std::uint32_t link = 0; link < links; ++link) {
      EXPECT_LE(shares.load(link), capacities[link] * (1 + 1e-12));
    }
    for (const auto& [flow, made] : flows) {
      const double level = shares.rate(flow) / made.weight;
      const bool held = std::any_of(made.route.begin(), made.route.end(), [&](MaxMin::Link link) {
        if (shares.load(link) < capacities[link] * (1 - 1e-9)) {
          return false;
        }
        return std::all_of(flows.begin(), flows.end(), [&](const auto& other) {
          const Links& route = other.second.route;
          return std::find(route.begin(), route.end(), link) == route.end() ||
                 shares.rate(other.first) / other.second.weight <= level * (1 + 1e-9);
        });
      });
      EXPECT_TRUE(held || shares.rate(flow) == made.limit) << step << " " << flow;
    }
    MaxMin fresh(capacities);
    for (const auto& [flow, made] : flows) {
      fresh.add(flow, made.route, made.weight, made.limit);
    }
    solve(fresh);
    for (const auto& [flow, made] : flows) {
      EXPECT_EQ(fresh.rate(flow), shares.rate(flow)) << step << " " << flow;
    }
  }
}

}  // namespace
}  // namespace tessera::network
