// The experiment's own strategy, as its file has it.
#include <gtest/gtest.h>

#include <string>

#include "search/simulator.hpp"
#include "tessera/config/document.hpp"

namespace tessera::explore::own_candidate_test {
namespace {

Candidate own(const std::string& text) {
  config::Diagnostics diagnostics;
  const config::Value strategy = config::parse("s.yaml", text, diagnostics);
  diagnostics.throw_if_any();
  return own_candidate(strategy, "linear");
}

// As `tessera run` reads them: a sign, an underscore and an exponent were another number or none.
TEST(OwnCandidate, ReadsWholeNumbersAsRunsDo) {
  const Candidate read =
      own("{pipeline: +2, tensor: 0.8e1, data: 1_6, micro_batch: 80e-1, zero: +3, chunks: 2.0}");
  EXPECT_EQ(read.degrees.pipeline, 2U);
  EXPECT_EQ(read.degrees.tensor, 8U);
  EXPECT_EQ(read.degrees.data, 16U);
  EXPECT_EQ(read.micro_batch, 8U);
  EXPECT_EQ(read.zero, 3U);
  EXPECT_EQ(read.chunks, 2U);
  EXPECT_EQ(read.context, 1U);
}

TEST(OwnCandidate, KnowsEachRecomputation) {
  for (const auto& [name, recompute] : recomputations()) {
    EXPECT_EQ(own("{recompute: " + name + "}").recompute, recompute) << name;
  }
}

}  // namespace
}  // namespace tessera::explore::own_candidate_test
