#include "flow/fluid_flows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tessera/core/random.hpp"

namespace tessera::network::fluid_flows_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Links = std::vector<FluidFlows::Link>;

SimTime ps(std::int64_t time) {
  return SimTime::from_ps(time);
}

std::vector<FluidFlows::Flow> ended_at(FluidFlows& flows, SimTime now) {
  std::vector<FluidFlows::Flow> ended;
  flows.take_ended(now, ended);
  return ended;
}

TEST(FluidFlows, WhatIsOverLeavesItsShare) {
  FluidFlows flows(std::vector<double>{10});
  flows.begin(0, Links{0}, 100, 1, MaxMin::no_limit);
  flows.begin(1, Links{0}, 300, 1, MaxMin::no_limit);
  flows.share(ps(1000));
  EXPECT_EQ(flows.next_end(), ps(1020));
  EXPECT_THAT(ended_at(flows, ps(1019)), IsEmpty());
  EXPECT_THAT(ended_at(flows, ps(1020)), ElementsAre(0));
  flows.share(ps(1020));
  EXPECT_DOUBLE_EQ(flows.left(1, ps(1020)), 200);
  EXPECT_DOUBLE_EQ(flows.rate(1), 10);
  EXPECT_EQ(flows.next_end(), ps(1040));
  EXPECT_THAT(ended_at(flows, ps(1040)), ElementsAre(1));
  EXPECT_TRUE(flows.next_end().is_never());
}

// What outlooks count on: a little less than the time alone.
TEST(FluidFlows, KnowsTheLeastDuration) {
  for (const double bytes : {0.0, 1.0, 7.0, 4096.0, 1e6 + 1, 1e12}) {
    for (const double rate : {0.3, 1.0, 0.025}) {
      const SimTime least = FluidFlows::least_duration(bytes, rate);
      const SimTime alone = FluidFlows::duration(bytes, rate);
      EXPECT_LE(least, alone) << bytes << " at " << rate;
      EXPECT_GE(static_cast<double>(least.ps()), static_cast<double>(alone.ps()) * (1 - 2e-9) - 3)
          << bytes << " at " << rate;
    }
  }
}

TEST(FluidFlows, GoesNoFasterThanItsLimit) {
  FluidFlows flows(std::vector<double>{10});
  flows.begin(3, Links{0}, 100, 1, 2.0);
  flows.share(ps(0));
  EXPECT_EQ(flows.next_end(), ps(50));
  EXPECT_EQ(flows.end(3), ps(50));
}

// One that begins alone may be disturbed at the same instant: nobody counts on its end before.
TEST(FluidFlows, TheEndOfAFlowAloneIsSeenWhenItsInstantIsOver) {
  FluidFlows flows(std::vector<double>{10});
  ASSERT_TRUE(flows.begin_alone(0, Links{0}, 100, 1, MaxMin::no_limit, ps(5)));
  EXPECT_FALSE(flows.is_pending());
  EXPECT_EQ(flows.first_unseen(), ps(15));
  flows.see(ps(5));
  EXPECT_TRUE(flows.next_end().is_never());
  pdes::StateWriter writer;
  flows.save(0, writer);
  EXPECT_FALSE(flows.begin_alone(1, Links{0}, 100, 1, MaxMin::no_limit, ps(5)));
  flows.begin(1, Links{0}, 50, 1, MaxMin::no_limit);
  flows.share(ps(5));
  EXPECT_TRUE(flows.first_unseen().is_never());
  EXPECT_EQ(flows.end(0), ps(25));
  EXPECT_EQ(flows.end(1), ps(15));

  FluidFlows resumed(std::vector<double>{10});
  pdes::StateReader reader(writer.bytes());
  resumed.begin(0, Links{0}, 100, 1, MaxMin::no_limit);
  resumed.restore(0, reader);
  EXPECT_EQ(resumed.next_end(), ps(15));
}

// A case of random flows, which begin at a few instants so that many do at the same.
struct Planned {
  SimTime begin;
  Links route;
  std::uint64_t bytes = 0;
  double limit = MaxMin::no_limit;
};

struct RandomCase {
  explicit RandomCase(std::uint32_t seed) {
    RandomStream random(4, EntityId(seed), 0);
    const std::uint64_t links = 2 + random.next_below(10);
    for (std::uint64_t link = 0; link < links; ++link) {
      capacities.push_back(0.5 + static_cast<double>(random.next_below(4)));
    }
    const std::uint64_t count = 1 + random.next_below(40);
    for (std::uint64_t i = 0; i < count; ++i) {
      Planned one;
      one.begin = ps(static_cast<std::int64_t>(random.next_below(8)) * 500);
      for (FluidFlows::Link link = 0; link < links; ++link) {
        if (random.next_below(3) == 0) {
          one.route.push_back(link);
        }
      }
      if (one.route.empty()) {
        one.route.push_back(static_cast<FluidFlows::Link>(random.next_below(links)));
      }
      one.bytes = 1 + random.next_below(1000);
      if (random.next_below(4) == 0) {
        one.limit = 0.1 + random.next_uniform();
      }
      flows.push_back(one);
    }
  }
  std::vector<double> capacities;
  std::vector<Planned> flows;
};

FluidFlows restored(const RandomCase& one, const FluidFlows& from,
                    const std::vector<FluidFlows::Flow>& under_way) {
  pdes::StateWriter writer;
  for (const FluidFlows::Flow flow : under_way) {
    from.save(flow, writer);
  }
  FluidFlows fresh(one.capacities);
  pdes::StateReader reader(writer.bytes());
  for (const FluidFlows::Flow flow : under_way) {
    fresh.begin(flow, one.flows[flow].route, one.flows[flow].bytes, 1, one.flows[flow].limit);
    fresh.restore(flow, reader);
  }
  return fresh;
}

enum class Way { plain, backwards, restored_each_time, alone_at_once };

// Ends of all flows.
std::vector<SimTime> ends_of(const RandomCase& one, Way way) {
  std::multimap<SimTime, FluidFlows::Flow> begins;
  for (FluidFlows::Flow flow = 0; flow < one.flows.size(); ++flow) {
    begins.emplace(one.flows[flow].begin, flow);
  }
  FluidFlows flows(one.capacities);
  std::vector<SimTime> ends(one.flows.size());
  std::vector<FluidFlows::Flow> under_way;
  for (auto next = begins.begin(); next != begins.end() || !under_way.empty();) {
    SimTime now = flows.next_end();
    if (next != begins.end()) {
      now = std::min(now, next->first);
    }
    std::vector<FluidFlows::Flow> beginning;
    for (; next != begins.end() && next->first == now; ++next) {
      beginning.push_back(next->second);
    }
    if (way == Way::backwards) {
      std::reverse(beginning.begin(), beginning.end());
    }
    const auto begin = [&] {
      for (const FluidFlows::Flow flow : beginning) {
        const Planned& planned = one.flows[flow];
        if (way != Way::alone_at_once ||
            !flows.begin_alone(flow, planned.route, planned.bytes, 1, planned.limit, now)) {
          flows.begin(flow, planned.route, planned.bytes, 1, planned.limit);
        }
        under_way.push_back(flow);
      }
    };
    if (way == Way::backwards) {
      begin();
    }
    for (const FluidFlows::Flow flow : ended_at(flows, now)) {
      EXPECT_LE(flows.left(flow, now), flows.rate(flow)) << "more left than goes in a ps";
      ends[flow] = now;
      std::erase(under_way, flow);
    }
    if (way != Way::backwards) {
      begin();
    }
    // Between what happens at an instant and its sharing out, too.
    if (way == Way::restored_each_time) {
      flows = restored(one, flows, under_way);
    }
    if (way != Way::alone_at_once || flows.is_pending()) {
      flows.share(now);
    }
    flows.see(now + ps(1));
    if (way == Way::restored_each_time) {
      flows = restored(one, flows, under_way);
    }
  }
  return ends;
}

TEST(FluidFlows, OrderWithinAnInstantAndCheckpointsChangeNothing) {
  constexpr std::uint32_t cases = 2000;
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    const RandomCase one(seed);
    const std::vector<SimTime> ends = ends_of(one, Way::plain);
    ASSERT_EQ(ends_of(one, Way::backwards), ends) << seed;
    ASSERT_EQ(ends_of(one, Way::restored_each_time), ends) << seed;
    ASSERT_EQ(ends_of(one, Way::alone_at_once), ends) << seed;
  }
}

TEST(Earliest, IsTheLeastOfAll) {
  Earliest times;
  EXPECT_TRUE(times.earliest().is_never());
  std::map<std::uint32_t, SimTime> expected;
  RandomStream random(6, EntityId(0), 0);
  for (const std::uint64_t numbers : {10U, 64U, 65U, 5000U, 300'000U}) {
    for (int change = 0; change < 300; ++change) {
      const auto number = static_cast<std::uint32_t>(random.next_below(numbers));
      if (random.next_below(3) == 0) {
        if (expected.erase(number) > 0) {
          times.set(number, SimTime::never());
        }
      } else {
        const SimTime time = ps(static_cast<std::int64_t>(random.next_below(1000)));
        times.set(number, time);
        EXPECT_EQ(times.time(number), time);
        expected[number] = time;
      }
      SimTime earliest = SimTime::never();
      std::vector<std::uint32_t> early;
      for (const auto& [each, time] : expected) {
        earliest = std::min(earliest, time);
        if (time <= ps(200)) {
          early.push_back(each);
        }
      }
      ASSERT_EQ(times.earliest(), earliest);
      std::vector<std::uint32_t> collected;
      times.collect(ps(200), collected);
      ASSERT_EQ(collected, early);
    }
  }
}

}  // namespace
}  // namespace tessera::network::fluid_flows_test
