// What is forecast of collectives among many: in short time, without leaving anybody out.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collectives/plans.hpp"
#include "graph/tasks.hpp"
#include "hand_made.hpp"
#include "tessera/executor/graph/forecast.hpp"

namespace tessera::executor::forecast_test {
namespace {

using hand_made::collective;
using hand_made::stack;
using hand_made::work_on;
using workload::GraphNode;

// All members of a stack of one dimension in one all-reduce.
struct AllReduce {
  AllReduce(const std::string& shape, std::uint32_t members, std::uint64_t bytes,
            const std::string& algorithm)
      : machine(stack(shape)),
        work(work_on(machine,
                     std::vector<std::vector<GraphNode>>(members, {collective(1, bytes)}))) {
    work.options.algorithms = {algorithm};
    work.survey.at_work.assign(members, true);
  }
  GraphSetup setup() const {
    return {machine,
            work,
            {},
            [](EntityId, const workload::Operation&, bool) { return SimTime::zero(); },
            [](EntityId, EntityId, Bytes bytes) {
              return SimTime::from_ps(hand_made::us + static_cast<std::int64_t>(bytes.count()));
            },
            [](Bytes, bool) { return SimTime::zero(); },
            1,
            {}};
  }
  machine::Machine machine;
  GraphWork work;
  mutable workload::GraphPosition begin;
};

struct Sum {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

std::map<std::uint32_t, Sum> sums_by_sender(const GraphForecast& forecast) {
  std::map<std::uint32_t, Sum> sums;
  for (const GraphForecast::Talk& talk : forecast.talks) {
    sums[talk.from].messages += talk.messages;
    sums[talk.from].bytes += talk.messages * talk.bytes.count();
  }
  return sums;
}

// One step of 2 (n - 1) tells who the others go to.
TEST(Forecast, ARingOfThousandsIsOneTalkAMember) {
  constexpr std::uint32_t members = 5000;
  const AllReduce ring("Ring(5000)", members, members * 100, "ring");
  const GraphForecast forecast = forecast_graphs(ring.setup(), members);
  EXPECT_EQ(forecast.talks.size(), members);
  for (const auto& [from, sum] : sums_by_sender(forecast)) {
    ASSERT_EQ(sum.messages, 2 * (members - 1)) << from;
    ASSERT_EQ(sum.bytes, 2 * (members - 1) * 100) << from;
  }
  std::uint64_t pairs = 0;
  visit_graph_pairs(ring.setup(), [&](EntityId from, EntityId to) {
    ASSERT_EQ(to.value(), (from.value() + 1) % members);
    ++pairs;
  });
  EXPECT_EQ(pairs, members);
}

// Promises take the smallest message: a chunk of the vector, of which not all are alike.
TEST(Forecast, NoMessageOfALongRingIsSmallerThanItsLeast) {
  constexpr std::uint32_t members = 100;
  const AllReduce ring("Ring(100)", members, members * 100 + 7, "ring");
  for (const GraphForecast::Talk& talk : forecast_graphs(ring.setup(), members).talks) {
    EXPECT_GE(talk.bytes, Bytes(100));
    EXPECT_LE(talk.bytes, Bytes(101));
  }
  const GraphSetup setup = ring.setup();
  CollectivePlans plans(setup);
  const PlannedCollective& plan =
      plans.of(task_of(ring.work, ring.work.source->read(0, ring.begin, 1).front()));
  for (std::uint32_t npu = 0; npu < members; ++npu) {
    plan.visit_peers(npu, [&](std::uint32_t peer, const PlannedCollective::Sends& sends) {
      EXPECT_EQ(peer, (npu + 1) % members);
      EXPECT_EQ(sends.least, Bytes(100)) << npu;
      EXPECT_EQ(sends.peers, 1U);
    });
  }
}

// Some of a direct exchange's pairs stand for all, of each member as many; those that exchange
// messages are all of them.
TEST(Forecast, ADirectExchangeAmongManyIsThinnedOut) {
  constexpr std::uint32_t members = 1500;
  const AllReduce direct("FC(1500)", members, members * 100, "direct");
  const GraphForecast forecast = forecast_graphs(direct.setup(), members);
  EXPECT_LE(forecast.talks.size(), 450'000);
  EXPECT_GE(forecast.talks.size(), 150'000);
  const auto sums = sums_by_sender(forecast);
  ASSERT_EQ(sums.size(), members);
  for (const auto& [from, sum] : sums) {
    ASSERT_EQ(sum.messages, 2 * (members - 1)) << from;
    ASSERT_EQ(sum.bytes, 2 * (members - 1) * 100) << from;
  }
  std::set<std::uint32_t> peers;
  visit_graph_pairs(direct.setup(), [&](EntityId from, EntityId to) {
    if (from.value() == 7) {
      peers.insert(to.value());
    }
  });
  EXPECT_EQ(peers.size(), members - 1);
}

// Few steps are all looked at.
TEST(Forecast, SmallCollectivesAreCountedExactly) {
  const AllReduce ring("Ring(8)", 8, 1001, "ring");
  std::uint64_t bytes = 0;
  for (const auto& [from, sum] : sums_by_sender(forecast_graphs(ring.setup(), 8))) {
    EXPECT_EQ(sum.messages, 14U) << from;
    bytes += sum.bytes;
  }
  EXPECT_NEAR(static_cast<double>(bytes), 2 * 7 * 1001,
              8 * 14);  // a talk has whole bytes a message
}

}  // namespace
}  // namespace tessera::executor::forecast_test
