// Lines of searches that are gone on with.
#include "search/proposal_line.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tessera/core/error.hpp"

namespace tessera::explore::proposal_line_test {
namespace {

const std::string rest = "\t\tfinished\t\t1\t2\t3\t4\t5\t\t.";

TEST(ProposalLine, GivesBackWhatItWas) {
  Proposal proposal;
  proposal.candidate = Candidate();
  proposal.candidate->degrees = {4, 2, 8};
  proposal.candidate->schedule = "1f1b";
  proposal.candidate->async_tensor = true;
  proposal.candidate->layout = "line";
  for (const auto& [name, recompute] : recomputations()) {
    proposal.candidate->recompute = recompute;
    proposal.repeats = !proposal.repeats;
    const Proposal read = proposal_from(to_line(proposal));
    EXPECT_EQ(read.candidate, proposal.candidate) << name;
    EXPECT_EQ(read.repeats, proposal.repeats);
  }
}

// Before `async_tensor` was varied, keys had a part less.
TEST(ProposalLine, IsReadAsEarlierSearchesWroteIt) {
  const Proposal old =
      proposal_from("8/2/32/1/1/true/1/2/dualpipe-v/none/1/0/false/true/true/linear" + rest);
  ASSERT_TRUE(old.candidate);
  EXPECT_TRUE(old.candidate->overlap_tensor);
  EXPECT_FALSE(old.candidate->async_tensor);
  EXPECT_TRUE(old.candidate->overlap_passes);
  EXPECT_EQ(old.candidate->layout, "linear");
  EXPECT_TRUE(old.repeats);  // was not kept either
  EXPECT_THROW(proposal_from("8/2/32/1/1/true/1/2/dualpipe-v/none/1/0/false/linear" + rest),
               ConfigError);
}

}  // namespace
}  // namespace tessera::explore::proposal_line_test
