// What a host has to do with the operations of a phase.
#include "tessera/plan/issue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::plan::issue_test {
namespace {

std::vector<Instruction> phase_of(std::initializer_list<Action> actions) {
  std::vector<Instruction> phase;
  for (const Action action : actions) {
    phase.push_back({.action = action});
  }
  return phase;
}

TEST(Issue, WaitsForWhatIsReceivedAndCountsIt) {
  const auto phase = phase_of({Action::receive, Action::collective, Action::execute});
  const workload::Issue issue = issue_of(phase, 2, false);
  EXPECT_TRUE(issue.waits);
  EXPECT_EQ(issue.others, 2U);
}

TEST(Issue, IsAheadOfCollectivesAndAccesses) {
  const auto phase = phase_of({Action::receive, Action::execute, Action::collective, Action::read,
                               Action::wait_access, Action::start_elapse, Action::wait_collectives,
                               Action::send, Action::execute});
  const workload::Issue issue = issue_of(phase, 8, false);
  EXPECT_FALSE(issue.waits);
  EXPECT_EQ(issue.others, 3U);
}

TEST(Issue, WaitsWhereAnIterationBegins) {
  const auto phase = phase_of({Action::execute, Action::execute});
  EXPECT_TRUE(issue_of(phase, 0, true).waits);
  EXPECT_FALSE(issue_of(phase, 0, false).waits);
  EXPECT_FALSE(issue_of(phase, 1, true).waits);
  EXPECT_EQ(issue_of(phase, 0, true).others, 0U);
}

TEST(Issue, WaitsWhereTheInstructionSaysSo) {
  auto phase = phase_of({Action::execute, Action::collective, Action::execute, Action::execute});
  phase[2].host_waits = HostWait::waits;
  EXPECT_TRUE(issue_of(phase, 2, false).waits);
  EXPECT_EQ(issue_of(phase, 2, false).others, 1U);
  EXPECT_FALSE(issue_of(phase, 3, false).waits);
}

TEST(Issue, BeginsWithAnOperationThatIsTimedAlone) {
  auto phase = phase_of({Action::execute, Action::collective, Action::send, Action::execute});
  EXPECT_EQ(issue_of(phase, 3, false).others, 2U);
  phase[3].host_waits = HostWait::begins;
  EXPECT_TRUE(issue_of(phase, 3, false).waits);
  EXPECT_EQ(issue_of(phase, 3, false).others, 0U);
}

TEST(Issue, KnowsTheFirstOperationOfAPass) {
  const auto phase = phase_of({Action::receive, Action::start_collective, Action::execute,
                               Action::collective, Action::execute});
  EXPECT_TRUE(issue_of(phase, 2, false).begins);
  EXPECT_FALSE(issue_of(phase, 4, false).begins);
}

}  // namespace
}  // namespace tessera::plan::issue_test
