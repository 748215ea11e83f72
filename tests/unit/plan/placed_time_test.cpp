// Estimates of a placed plan hold what programs wait for before collectives.
#include "tessera/plan/placed_time.hpp"

#include <gtest/gtest.h>

#include "planning.hpp"
#include "tessera/machine/routing/routing.hpp"

namespace tessera::plan::placed_time_test {
namespace {

using testing::Planned;

// One stage and one micro-batch a replica, whose pieces follow each other.
Planned work_of(const std::string& more, const collective::Overhead& overhead) {
  return testing::planned(
      "data: 4\nmicro_batch: 4\nzero: 3\ngather: operator\nkeep_below: 1000\nprefetch: none\n" +
          more,
      testing::machine_text(), testing::workload_text() + "biases: true\n", overhead);
}

SimTime time_of(const Planned& work, const collective::Overhead& overhead) {
  const machine::Topology& topology = *work.machine.topology;
  const auto routing = machine::make_routing(topology.default_routing(), topology);
  const Transfers transfers{[&](EntityId from, EntityId to) {
                              return machine::hops_between(topology, *routing, from, to);
                            },
                            SimTime::zero(), overhead};
  return placed_time(work.machine, work.plan, testing::time_at_peak, transfers);
}

std::int64_t elapsed(const Planned& work) {
  std::int64_t sum = 0;
  for (const auto& piece : work.plan.stages[0].program.pieces) {
    for (const Instruction& instruction : piece) {
      sum +=
          instruction.action == Action::elapse ? static_cast<std::int64_t>(instruction.bytes) : 0;
    }
  }
  return sum;
}

TEST(PlacedTime, CountsTheListsOfEachCollectiveOnce) {
  const collective::Overhead overhead{SimTime::zero(), SimTime::from_ps(10), {}};
  for (const char* const more : {"", "keep_apart: true\n"}) {
    const Planned with = work_of(more, overhead);
    const Planned without = work_of(more, {});
    EXPECT_GT(elapsed(with), 0) << more;
    EXPECT_EQ((time_of(with, overhead) - time_of(without, {})).ps(), elapsed(with)) << more;
  }
}

}  // namespace
}  // namespace tessera::plan::placed_time_test
