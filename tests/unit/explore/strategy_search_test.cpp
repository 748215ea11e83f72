#include "tessera/explore/strategy_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::explore {
namespace {

using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;
using testing::small_sweep;

SearchRequest request() {
  SearchRequest request;
  request.experiment = "lab/experiment.yaml";
  request.simulated = 3;
  return request;
}

SearchOutcome search(const SearchRequest& request, const Files& files = small_sweep()) {
  const auto alone = comm::make_in_process();
  return search_strategies(request, *alone, loader_of(files));
}

TEST(StrategySearch, FindsOneThatRunsAsFastAsItSays) {
  const SearchOutcome outcome = search(request());
  ASSERT_FALSE(outcome.proposals.empty());
  for (std::size_t i = 1; i < outcome.proposals.size(); ++i) {
    EXPECT_LE(outcome.proposals[i - 1].iteration, outcome.proposals[i].iteration);
  }
  Files files = small_sweep();
  files["best.yaml"] = outcome.strategy_yaml;
  const sim::Experiment experiment = sim::read_experiment(
      "lab/experiment.yaml", {"strategy=best.yaml", "run.trace=none"}, loader_of(files));
  const auto alone = comm::make_in_process();
  EXPECT_EQ(sim::run(experiment, *alone, {}).iteration_time_ps,
            outcome.proposals.front().iteration.ps());
}

TEST(StrategySearch, ComparesWithTheExperimentsOwn) {
  const SearchOutcome outcome = search(request());
  const auto own = std::find_if(outcome.proposals.begin(), outcome.proposals.end(),
                                [](const Proposal& each) { return !each.candidate; });
  ASSERT_NE(own, outcome.proposals.end());
  EXPECT_GE(own->iteration, outcome.proposals.front().iteration);
  EXPECT_THAT(to_table(outcome), HasSubstr("own"));
}

TEST(StrategySearch, IsTheSameOnAnyNumberOfRanks) {
  const SearchOutcome expected = search(request());
  for (const int ranks : {2, 3}) {
    comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
      const SearchOutcome outcome =
          search_strategies(request(), communicator, loader_of(small_sweep()));
      EXPECT_EQ(to_table(outcome), to_table(expected));
      EXPECT_EQ(outcome.strategy_yaml, expected.strategy_yaml);
    });
  }
}

TEST(StrategySearch, UsesNoMoreDevicesThanAllowed) {
  SearchRequest narrow = request();
  narrow.devices = 3;
  for (const Proposal& proposal : search(narrow).proposals) {
    if (proposal.candidate) {
      EXPECT_LE(proposal.candidate->degrees.tiles(), 3U);
    }
  }
}

TEST(StrategySearch, SaysWhyOthersFellOut) {
  SearchRequest tight = request();
  tight.overrides = {"machine.tile.sram=100 kB"};
  const SearchOutcome outcome = search(tight);
  EXPECT_LT(outcome.estimated, outcome.candidates);
  EXPECT_GT(outcome.estimated, 0U);
  EXPECT_THAT(to_table(outcome), HasSubstr("its SRAM has"));
  tight.overrides = {"machine.tile.sram=1 kB"};
  const SearchOutcome none = search(tight);
  EXPECT_EQ(none.estimated, 0U);
  EXPECT_TRUE(none.strategy_yaml.empty());
}

TEST(StrategySearch, StopsWhenAsked) {
  SearchRequest stopping = request();
  stopping.stop_requested = [] { return true; };
  EXPECT_THROW(search(stopping), StopRequested);
}

}  // namespace
}  // namespace tessera::explore
