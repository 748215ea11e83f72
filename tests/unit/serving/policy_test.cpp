#include "tessera/serving/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::serving::policy_test {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Policy> policy(const std::string& name, const PolicySetup& setup,
                               const std::string& keys = "{}") {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("policy.yaml", keys, diagnostics), "", diagnostics);
  const PolicyFactory factory = policies().at(name)(section, setup);
  section.finish();
  diagnostics.throw_if_any();
  return factory();
}

// Three tenants on one NPU of four cores, the first with a target.
PolicySetup three() {
  PolicySetup setup;
  setup.cores = 4;
  setup.tenants = {
      {CoreRange{0, 1}, {0}, true}, {CoreRange{1, 3}, {0}, false}, {std::nullopt, {0}, false}};
  return setup;
}

struct Situation {
  std::vector<Candidate> candidates;
  std::vector<std::uint32_t> running{0, 0, 0};
  std::vector<char> busy{1, 1, 1};
  std::vector<Start> ask(Policy& of) const {
    return of.choose({SimTime::from_ps(100), candidates, running, busy});
  }
};

TEST(Policies, EvenPartsCoverAllCores) {
  for (std::uint32_t cores = 1; cores < 20; ++cores) {
    for (std::uint32_t parts = 1; parts <= cores; ++parts) {
      std::uint32_t next = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const CoreRange range = even_part(cores, parts, part);
        EXPECT_EQ(range.first, next);
        EXPECT_GE(range.count, cores / parts);
        EXPECT_LE(range.count, cores / parts + 1);
        next += range.count;
      }
      EXPECT_EQ(next, cores);
    }
  }
}

TEST(Policies, FirstComeBeginsAllOnAllCores) {
  Situation now;
  now.candidates = {{1, 0}, {0, 0}};
  const auto starts = now.ask(*policy("first-come", three()));
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[0].candidate, 0U);
  EXPECT_EQ(starts[1].cores, (CoreRange{0, 4}));
}

TEST(Policies, TimeSharingTakesTenantsInTurn) {
  const auto shared = policy("time-sharing", three());
  Situation now;
  now.candidates = {{1, 0}, {1, 0}, {0, 0}, {2, 0}};
  const auto first = now.ask(*shared);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].candidate, 2U);  // tenant 0
  EXPECT_EQ(first[0].cores, (CoreRange{0, 4}));
  now.running = {1, 0, 0};
  EXPECT_TRUE(now.ask(*shared).empty());
  now.running = {0, 0, 0};
  EXPECT_EQ(now.ask(*shared)[0].candidate, 0U);  // tenant 1, its first
  EXPECT_EQ(now.ask(*shared)[0].candidate, 3U);  // tenant 2
  EXPECT_EQ(now.ask(*shared)[0].candidate, 2U);
}

TEST(Policies, SpatialKeepsTenantsApart) {
  Situation now;
  now.candidates = {{0, 0}, {1, 0}};
  const auto starts = now.ask(*policy("spatial", three()));
  EXPECT_EQ(starts[0].cores, (CoreRange{0, 1}));
  EXPECT_EQ(starts[1].cores, (CoreRange{1, 3}));
}

TEST(Policies, SpatialSplitSharesOutToThoseWithWork) {
  const auto split = policy("spatial-split", three());
  Situation now;
  now.candidates = {{0, 0}, {2, 0}};
  now.busy = {1, 0, 1};
  const auto two = now.ask(*split);
  EXPECT_EQ(two[0].cores, (CoreRange{0, 2}));
  EXPECT_EQ(two[1].cores, (CoreRange{2, 2}));
  now.busy = {0, 0, 1};
  now.candidates = {{2, 0}};
  EXPECT_EQ(now.ask(*split)[0].cores, (CoreRange{0, 4}));
}

TEST(Policies, DeadlineMovesABorderByWhatComesOut) {
  const auto deadline = policy("deadline", three(), "{patience: 2}");
  const SimTime target = SimTime::from_ps(1000);
  Situation now;
  now.candidates = {{1, 0}, {0, 0, SimTime::from_ps(500)}};
  auto starts = now.ask(*deadline);
  ASSERT_EQ(starts.size(), 2U);
  EXPECT_EQ(starts[0].candidate, 1U);             // with a deadline
  EXPECT_EQ(starts[0].cores, (CoreRange{0, 4}));  // the others have nothing under way
  EXPECT_GT(starts[0].priority, starts[1].priority);
  EXPECT_EQ(starts[1].cores, (CoreRange{3, 1}));
  now.running = {0, 1, 0};
  now.candidates = {{0, 0, SimTime::from_ps(500)}};
  EXPECT_EQ(now.ask(*deadline)[0].cores, (CoreRange{0, 3}));
  now.running = {0, 0, 0};
  now.candidates = {{1, 0}};
  EXPECT_EQ(now.ask(*deadline)[0].cores, (CoreRange{3, 1}));
  deadline->step_over(0, SimTime::from_ps(1001), target);
  EXPECT_TRUE(now.ask(*deadline).empty());  // no core is left
  now.busy = {0, 1, 1};
  EXPECT_EQ(now.ask(*deadline)[0].cores, (CoreRange{0, 4}));  // while no target is at stake
  now.busy = {1, 1, 1};
  deadline->step_over(0, SimTime::from_ps(700), target);
  EXPECT_TRUE(now.ask(*deadline).empty());
  deadline->step_over(0, SimTime::from_ps(700), target);
  EXPECT_EQ(now.ask(*deadline)[0].cores, (CoreRange{3, 1}));
  for (int good = 0; good < 20; ++good) {
    deadline->step_over(0, SimTime::from_ps(700), target);
  }
  EXPECT_EQ(now.ask(*deadline)[0].cores, (CoreRange{1, 3}));  // one core stays below
}

// A step between `slack` and the target had left the row as it was.
TEST(Policies, DeadlineCountsStepsThatFollowOneAnother) {
  const auto deadline = policy("deadline", three(), "{patience: 2, slack: 0.8}");
  const SimTime target = SimTime::from_ps(1000);
  const auto border = [&] {
    Situation now;
    now.candidates = {{1, 0}};
    return now.ask(*deadline)[0].cores.first;
  };
  ASSERT_EQ(border(), 3U);
  for (int pair = 0; pair < 4; ++pair) {
    deadline->step_over(0, SimTime::from_ps(799), target);
    deadline->step_over(0, SimTime::from_ps(pair % 2 == 0 ? 900 : 1000), target);
  }
  EXPECT_EQ(border(), 3U);
  deadline->step_over(0, SimTime::from_ps(799), target);
  EXPECT_EQ(border(), 3U);
  deadline->step_over(0, SimTime::from_ps(799), target);
  EXPECT_EQ(border(), 2U);
}

TEST(Policies, DeadlineNeedsATarget) {
  PolicySetup setup = three();
  setup.tenants[0].has_target = false;
  EXPECT_THROW(policy("deadline", setup), ConfigError);
}

}  // namespace
}  // namespace tessera::serving::policy_test
