// Plans of experts that do not all have as much to do.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planning.hpp"

namespace tessera::plan::expert_loads_test {
namespace {

using testing::machine_text;
using testing::planned;
using testing::Planned;
using testing::workload_text;

Planned with_experts(const std::string& strategy, const std::string& more) {
  return planned(strategy, machine_text(),
                 workload_text() + "experts: {count: 4, top_k: 1, room: unlimited" + more + "}\n");
}

bool does(const Planned& work, std::uint64_t rows) {
  const workload::MatrixProduct wanted{rows, 256, 64, 4};
  return std::any_of(
      work.plan.operations.begin(), work.plan.operations.end(),
      [&](const workload::Operation& operation) { return operation.product == wanted; });
}

// Of 32 tokens 16, 8, 4 and 4: of two replicas with two experts each the first has 24, half as much
// again as of an even spread.
TEST(PlannedExperts, AllDoWhatTheBusiestDo) {
  const std::string shares = ", shares: [4, 2, 1, 1]";
  EXPECT_TRUE(does(with_experts("data: 2\nexpert: 2\n", ""), 8));
  EXPECT_TRUE(does(with_experts("data: 2\nexpert: 2\n", shares), 12));
  EXPECT_TRUE(does(with_experts("data: 4\nexpert: 4\n", shares), 16));
  EXPECT_TRUE(does(with_experts("data: 2\n", shares), 8)) << "each has all experts";
}

TEST(PlannedExperts, KeepAndTakeLonger) {
  const Planned even = with_experts("data: 2\nexpert: 2\n", "");
  const Planned uneven = with_experts("data: 2\nexpert: 2\n", ", shares: [4, 2, 1, 1]");
  EXPECT_GT(uneven.ideal_time(), even.ideal_time());
  EXPECT_GT(uneven.plan.stages[0].memory.peak.total(), even.plan.stages[0].memory.peak.total());
  EXPECT_EQ(uneven.plan.stages[0].memory.weights, even.plan.stages[0].memory.weights);
}

}  // namespace
}  // namespace tessera::plan::expert_loads_test
