// What a host has to do with the operations of a phase.
#include "tessera/plan/issue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::plan::issue_test {
namespace {

// A pass after the other.
Program program_of(std::initializer_list<std::vector<Action>> passes) {
  Program program;
  for (const std::vector<Action>& pass : passes) {
    std::vector<Instruction>& piece = program.pieces.emplace_back();
    for (const Action action : pass) {
      piece.push_back({.action = action});
    }
    ScheduleEntry entry;
    entry.piece = static_cast<std::uint32_t>(program.pieces.size()) - 1;
    program.schedule.push_back(entry);
  }
  return program;
}

// Behind a pass with nothing but an operation.
const std::vector<Action> before{Action::execute};

TEST(Issue, WaitsForWhatIsReceivedAndCountsIt) {
  const Program program =
      program_of({before, {Action::receive, Action::collective, Action::execute}});
  const workload::Issue issue = issue_of(program, 1, 2);
  EXPECT_TRUE(issue.waits);
  EXPECT_EQ(issue.others, 2U);
}

TEST(Issue, IsAheadOfCollectivesAndAccesses) {
  const Program program = program_of(
      {before,
       {Action::receive, Action::execute, Action::collective, Action::read, Action::wait_access,
        Action::start_elapse, Action::wait_collectives, Action::send, Action::execute}});
  const workload::Issue issue = issue_of(program, 1, 8);
  EXPECT_FALSE(issue.waits);
  EXPECT_EQ(issue.others, 3U);
}

// What a collective takes before its first message is no kernel of its own.
TEST(Issue, CountsACollectiveWithItsOverheadOnce) {
  Program program = program_of({before,
                                {Action::elapse, Action::collective, Action::start_elapse,
                                 Action::start_collective, Action::execute}});
  EXPECT_EQ(issue_of(program, 1, 4).others, 2U);
  program.pieces[1][0].group = Group::data;  // of another collective, which is not simulated
  EXPECT_EQ(issue_of(program, 1, 4).others, 3U);
}

// All that is there since the operation before, unless the host waits, when it is issued meanwhile.
TEST(Issue, CountsWhatAPassHasBehindItsLastOperation) {
  const Program program = program_of({{Action::execute, Action::collective, Action::send},
                                      {Action::send},
                                      {Action::start_copy, Action::execute},
                                      {Action::receive, Action::execute}});
  EXPECT_EQ(issue_of(program, 2, 1).others, 4U);
  EXPECT_TRUE(issue_of(program, 2, 1).begins);
  EXPECT_EQ(issue_of(program, 3, 1).others, 1U);
}

TEST(Issue, WaitsWhereAnIterationBegins) {
  const Program program = program_of({{Action::execute, Action::execute}, {Action::execute}});
  EXPECT_TRUE(issue_of(program, 0, 0).waits);
  EXPECT_FALSE(issue_of(program, 1, 0).waits);
  EXPECT_FALSE(issue_of(program, 0, 1).waits);
  EXPECT_EQ(issue_of(program, 0, 0).others, 0U);
}

TEST(Issue, WaitsWhereTheInstructionSaysSo) {
  Program program =
      program_of({before, {Action::execute, Action::collective, Action::execute, Action::execute}});
  program.pieces[1][2].host_waits = HostWait::waits;
  EXPECT_TRUE(issue_of(program, 1, 2).waits);
  EXPECT_EQ(issue_of(program, 1, 2).others, 1U);
  EXPECT_FALSE(issue_of(program, 1, 3).waits);
}

TEST(Issue, BeginsWithAnOperationThatIsTimedAlone) {
  Program program =
      program_of({before, {Action::execute, Action::collective, Action::send, Action::execute}});
  EXPECT_EQ(issue_of(program, 1, 3).others, 2U);
  program.pieces[1][3].host_waits = HostWait::begins;
  EXPECT_TRUE(issue_of(program, 1, 3).waits);
  EXPECT_EQ(issue_of(program, 1, 3).others, 0U);
}

TEST(Issue, KnowsTheFirstOperationOfAPass) {
  const Program program = program_of({before,
                                      {Action::receive, Action::start_collective, Action::execute,
                                       Action::collective, Action::execute}});
  EXPECT_TRUE(issue_of(program, 1, 2).begins);
  EXPECT_FALSE(issue_of(program, 1, 4).begins);
}

}  // namespace
}  // namespace tessera::plan::issue_test
