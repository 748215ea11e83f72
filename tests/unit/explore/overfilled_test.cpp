// Strategies that overfill a channel of DRAM when its tiles hold most, which a run notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "files.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::explore::overfilled_test {
namespace {

using ::testing::Contains;
using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;
using ::testing::Not;

// Cores that share channels at an edge.
Files with_channels(const std::string& capacity) {
  return {{"lab/experiment.yaml",
           "name: shared\n"
           "machine: {name: mesh, topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 10 GB/s,\n"
           "  latency: 1 ns}, tile: {peak: {fp16: 1 TFLOP/s}, sram: 10 kB},\n"
           "  dram: {at: edge, edges: [west], bandwidth: 8 GB/s, latency: 10 ns, capacity: " +
               capacity +
               "}}\nworkload: {kind: transformer, layers: 2, hidden: 64, heads: 4, sequence: 64,\n"
               "  vocabulary: 64, batch: 8}\n"
               "strategy: {pipeline: 2, tensor: 2}\n"}};
}

SearchOutcome search(const Files& files, const std::vector<std::string>& kept = {}) {
  SearchRequest request;
  request.experiment = "lab/experiment.yaml";
  request.kept = {"schedule=1f1b",      "overlap_gradients=false", "overlap_tensor=false",
                  "async_tensor=false", "recompute=none,full",     "micro_batch=1,2",
                  "context=1"};
  request.kept.insert(request.kept.end(), kept.begin(), kept.end());
  const auto alone = comm::make_in_process();
  return search_strategies(request, *alone, loader_of(files));
}

std::vector<std::string> notes_of_run(Files files, const SearchOutcome& outcome) {
  files["best.yaml"] = outcome.strategy_yaml;
  const sim::Experiment experiment = sim::read_experiment(
      "lab/experiment.yaml", {"strategy=best.yaml", "run.trace=none"}, loader_of(files));
  const auto alone = comm::make_in_process();
  return sim::run(experiment, *alone, {}).notes;
}

constexpr const char* too_much = "at their peak: where operands";

// It was the fastest whose state alone fits.
TEST(Overfilled, IsNotProposedWhereOthersFit) {
  const Files files = with_channels("1500 kB");
  const SearchOutcome outcome = search(files);
  ASSERT_FALSE(outcome.proposals.empty());
  EXPECT_GT(outcome.too_large, 0U);
  EXPECT_THAT(outcome.notes, Not(Contains(HasSubstr(too_much))));
  EXPECT_THAT(notes_of_run(files, outcome), Not(Contains(HasSubstr(too_much))));
}

TEST(Overfilled, IsProposedWithANoteWhereNothingElseFits) {
  const Files files = with_channels("1200 kB");
  const SearchOutcome outcome = search(files);
  ASSERT_FALSE(outcome.proposals.empty());
  EXPECT_THAT(outcome.notes, Contains(HasSubstr(too_much)));
  EXPECT_THAT(outcome.strategy_yaml, HasSubstr("# DRAM channel 0 at tile (0,0) has 1.2 MB"));
  EXPECT_THAT(to_table(outcome), HasSubstr(too_much));
  EXPECT_THAT(to_json(outcome), HasSubstr(too_much));
  EXPECT_THAT(notes_of_run(files, outcome), Contains(HasSubstr(too_much)));
}

TEST(Overfilled, OfTheExperimentComesBehindWhatFits) {
  const SearchOutcome outcome = search(with_channels("1560 kB"), {"tensor=4", "pipeline=1"});
  ASSERT_GT(outcome.proposals.size(), 1U);
  EXPECT_TRUE(outcome.proposals.front().candidate);
  EXPECT_FALSE(outcome.proposals.front().overfills());
  const Proposal& own = outcome.proposals.back();
  EXPECT_FALSE(own.candidate);
  EXPECT_TRUE(own.overfills());
  EXPECT_GT(own.estimate, SimTime::zero());
}

TEST(Overfilled, IsNotLookedForWithoutACheck) {
  Files files = with_channels("1500 kB");
  std::string& text = files["lab/experiment.yaml"];
  text.replace(text.find("tensor: 2}"), 10, "tensor: 2, capacity: ignore}");
  const SearchOutcome outcome = search(files);
  EXPECT_EQ(outcome.too_large, 0U);
  EXPECT_THAT(outcome.notes, Not(Contains(HasSubstr(too_much))));
}

}  // namespace
}  // namespace tessera::explore::overfilled_test
