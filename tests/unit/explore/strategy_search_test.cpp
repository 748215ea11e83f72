#include "tessera/explore/strategy_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "files.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::explore::strategy_search_test {
namespace {

using testing::Files;
using ::testing::HasSubstr;
using testing::loader_of;
using ::testing::Not;
using testing::small_sweep;

SearchRequest request() {
  SearchRequest request;
  request.experiment = "lab/experiment.yaml";
  request.simulated = 24;
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
  const trace::Summary summary = sim::run(experiment, *alone, {});
  EXPECT_EQ(summary.iteration_time_ps, outcome.proposals.front().iteration.ps());
  // It was without what passes work in and gather.
  std::uint64_t most = 0;
  for (const trace::PeakMemory& peak : summary.peak_memory) {
    most = std::max(most, peak.bytes);
  }
  EXPECT_EQ(outcome.proposals.front().memory, Bytes(most));
}

TEST(StrategySearch, FindsOneThatRunsWithReplay) {
  const SearchOutcome outcome = search(request());
  Files files = small_sweep();
  files["best.yaml"] = outcome.strategy_yaml;
  sim::Experiment experiment = sim::read_experiment(
      "lab/experiment.yaml", {"strategy=best.yaml", "run.trace=none", "run.replay=exact"},
      loader_of(files));
  const auto alone = comm::make_in_process();
  EXPECT_EQ(sim::run_with_replay(experiment, *alone, {}).iteration_time_ps,
            outcome.proposals.front().iteration.ps());
}

// Of schedules that have pairs alone: others let stages wait for each other for ever.
TEST(StrategySearch, KeepsTurnsForSchedulesThatHaveThem) {
  Files files = small_sweep();
  std::string& text = files["lab/experiment.yaml"];
  text.replace(text.find("{pipeline: 2, tensor: 2}"), 24,
               "{pipeline: 2, chunks: 2, schedule: dualpipe-v, overlap_passes: true}");
  const SearchOutcome outcome = search(request(), files);
  ASSERT_FALSE(outcome.proposals.empty());
  EXPECT_TRUE(std::any_of(outcome.proposals.begin(), outcome.proposals.end(),
                          [](const Proposal& each) { return !each.candidate; }));
  files["best.yaml"] = outcome.strategy_yaml;
  EXPECT_NO_THROW(
      sim::read_experiment("lab/experiment.yaml", {"strategy=best.yaml"}, loader_of(files)));
}

// Bounds that counted such passes one after the other were above what they took, and might have
// ruled out the fastest.
TEST(StrategySearch, BoundsOfPassesThatTakeTurnsHoldByBruteForce) {
  Files files = small_sweep();
  files["lab/experiment.yaml"] =
      "name: turns\n"
      "machine: {name: mesh, topology: {kind: mesh, rows: 2, columns: 4, bandwidth: 4 GB/s,\n"
      "  latency: 1 ns}, tile: {peak: {fp16: 1 TFLOP/s}, sram: 64 MB}}\n"
      "workload: {kind: transformer, layers: 4, hidden: 64, heads: 4, sequence: 32,\n"
      "  vocabulary: 64, batch: 128, experts: {count: 4, top_k: 2}}\n"
      "strategy: {pipeline: 2, chunks: 2, data: 4, expert: 2, schedule: dualpipe-v,\n"
      "  overlap_passes: true, placement: {layout: linear}}\n";
  SearchRequest some = request();
  some.kept = {"tensor=1",  "context=1",        "schedule=1f1b,dualpipe-v", "recompute=none",
               "zero=0",    "placement=linear", "overlap_gradients=false",  "micro_batch=1,2",
               "expert=2,4"};
  SearchRequest every = some;
  every.all = true;
  const SearchOutcome all = search(every, files);
  EXPECT_EQ(all.violated, 0U);
  EXPECT_EQ(all.proposals.size(), all.fitting);
  const SearchOutcome found = search(some, files);
  EXPECT_EQ(found.violated, 0U);
  EXPECT_EQ(found.proposals.front().iteration, all.proposals.front().iteration);
  ASSERT_TRUE(all.proposals.front().candidate);
  EXPECT_EQ(all.proposals.front().candidate->schedule, "dualpipe-v");
}

TEST(StrategySearch, ComparesWithTheExperimentsOwn) {
  const SearchOutcome outcome = search(request());
  const auto own = std::find_if(outcome.proposals.begin(), outcome.proposals.end(),
                                [](const Proposal& each) { return !each.candidate; });
  ASSERT_NE(own, outcome.proposals.end());
  EXPECT_GE(own->iteration, outcome.proposals.front().iteration);
  EXPECT_THAT(to_table(outcome), HasSubstr("own"));
}

// They reached nobody.
TEST(StrategySearch, SaysWhichKeysHaveNoEffect) {
  SearchRequest some = request();
  some.overrides = {"machine.host={bandwidth: 10 GB/s, latency: 1 us}",
                    "strategy.software={host_waits: layers}"};
  const std::string host =
      "machine.host has no effect with work that copies nothing to hosts (strategy.offload, or "
      "tiers and adapters of served models)";
  const std::string waits =
      "strategy.software.host_waits has no effect with a machine without hosts "
      "(machine.compute.issue)";
  const SearchOutcome outcome = search(some);
  EXPECT_THAT(outcome.notes, ::testing::UnorderedElementsAre(host, waits));
  EXPECT_THAT(to_table(outcome), HasSubstr("note: " + host + "\n"));
  EXPECT_THAT(to_json(outcome), HasSubstr(host));
  EXPECT_THAT(search(request()).notes, ::testing::IsEmpty());
}

// They were of a strategy of one tile, which candidates are read with.
TEST(StrategySearch, HasNotesOfTheOwnStrategyWhereThatIsBest) {
  SearchRequest some = request();
  some.overrides = {"strategy={pipeline: 1, data: 4, overlap_gradients: true}"};
  some.kept = {"data=1", "tensor=1", "pipeline=1"};
  const SearchOutcome outcome = search(some);
  ASSERT_FALSE(outcome.proposals.empty());
  ASSERT_FALSE(outcome.proposals.front().candidate);
  EXPECT_THAT(outcome.notes, ::testing::IsEmpty());
}

// 64 are simulated in a moment here, and the best may be among the others.
TEST(StrategySearch, GoesOnWhileSimulationsAreShort) {
  SearchRequest some = request();
  some.simulated = 64;
  const SearchOutcome first = search(some);
  EXPECT_FALSE(first.exhausted);
  some.simulated = 0;
  const SearchOutcome outcome = search(some);
  EXPECT_TRUE(outcome.exhausted);
  EXPECT_GT(outcome.proposals.size(), 66U);
  EXPECT_LE(outcome.proposals.front().iteration, first.proposals.front().iteration);
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
      EXPECT_LE(proposal.candidate->tiles(), 3U);
    }
  }
}

// It takes four tiles and is faster than any on one: no candidate was simulated.
TEST(StrategySearch, HoldsNoStrategyOfMoreDevicesAgainstThoseAllowed) {
  SearchRequest narrow = request();
  narrow.devices = 1;
  const SearchOutcome outcome = search(narrow);
  ASSERT_FALSE(outcome.proposals.empty());
  EXPECT_FALSE(outcome.strategy_yaml.empty());
  for (const Proposal& proposal : outcome.proposals) {
    ASSERT_TRUE(proposal.candidate);
    EXPECT_EQ(proposal.candidate->tiles(), 1U);
  }
  ASSERT_FALSE(outcome.fallen_out.empty());
  EXPECT_EQ(outcome.fallen_out.front().message,
            "takes 4 tiles, more than the 1 that were asked for");
  EXPECT_FALSE(outcome.advice);
}

TEST(StrategySearch, CutsWhatDoesNotFitBeforeItIsSimulated) {
  SearchRequest tight = request();
  tight.overrides = {"machine.tile.sram=100 kB"};
  const SearchOutcome outcome = search(tight);
  EXPECT_LT(outcome.fitting, outcome.candidates);
  EXPECT_GT(outcome.fitting, 0U);
  EXPECT_EQ(outcome.candidates, outcome.fitting + outcome.too_large + outcome.impossible);
  EXPECT_TRUE(outcome.fallen_out.empty() || outcome.fallen_out.size() == 1U);  // its own
}

TEST(StrategySearch, SaysWhatWouldMakeItFit) {
  SearchRequest tight = request();
  tight.overrides = {"machine.tile.sram=1 kB"};
  const SearchOutcome none = search(tight);
  EXPECT_EQ(none.fitting, 0U);
  EXPECT_TRUE(none.strategy_yaml.empty());
  ASSERT_TRUE(none.advice);
  EXPECT_THAT(to_text(*none.advice), HasSubstr("more than its 1 kB"));
  EXPECT_THAT(to_json(none), HasSubstr("\"advice\""));
  // Of keys that are kept, one is named that helps.
  tight.overrides = {"machine.tile.sram=200 kB", "strategy.pipeline=1", "strategy.tensor=1",
                     "strategy.data=4"};
  tight.kept = {"pipeline", "tensor", "data", "context", "zero", "recompute"};
  const SearchOutcome kept = search(tight);
  ASSERT_TRUE(kept.advice);
  EXPECT_THAT(kept.advice->remedies, ::testing::Contains(HasSubstr("zero: 3")));
}

TEST(StrategySearch, RefusesToKeepWhatIsNoKey) {
  SearchRequest odd = request();
  for (const char* kept : {"zeros", "zero=a", "zero=", "schedule=1f1d", "recompute=some",
                           "overlap_tensor=1", "placement=given"}) {
    odd.kept = {kept};
    EXPECT_THROW(search(odd), ConfigError) << kept;
  }
  odd.kept = {"zero", "zero=1"};
  EXPECT_THROW(search(odd), ConfigError);
}

TEST(StrategySearch, SimulatesEveryCandidateWhenAskedTo) {
  SearchRequest narrow = request();
  narrow.kept = {"zero=0,1",       "micro_batch=1",        "schedule=1f1b",
                 "recompute=none", "overlap_tensor=false", "placement=linear",
                 "chunks=1"};
  const SearchOutcome some = search(narrow);
  narrow.all = true;
  const SearchOutcome all = search(narrow);
  EXPECT_EQ(all.candidates, some.candidates);
  EXPECT_EQ(all.proposals.size(), all.fitting);
  EXPECT_LT(some.proposals.size(), all.proposals.size());
  EXPECT_EQ(all.open, 0U);
  EXPECT_EQ(all.violated, 0U);
  EXPECT_EQ(all.least, all.proposals.front().iteration);
  for (const Proposal& proposal : all.proposals) {
    EXPECT_GE(proposal.iteration, some.least);
    EXPECT_EQ(proposal.candidate->layout, "linear");
  }
  EXPECT_EQ(some.proposals.front().iteration, all.proposals.front().iteration);
}

TEST(StrategySearch, SaysThatNoCandidateHasWhatIsKept) {
  SearchRequest narrow = request();
  narrow.kept = {"tensor=7"};
  narrow.folder = ::testing::TempDir() + "plan_of_none";
  std::filesystem::remove_all(narrow.folder);
  try {
    search(narrow);
    ADD_FAILURE() << "no complaint";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--keep tensor=7: no candidate on 16 devices has that"));
  }
  EXPECT_FALSE(std::filesystem::exists(narrow.folder));
}

TEST(StrategySearch, KeepsWhatItHasFoundWhenAskedToStop) {
  SearchRequest stopping = request();
  stopping.stop_requested = [] { return true; };
  const SearchOutcome outcome = search(stopping);
  EXPECT_FALSE(outcome.complete);
  EXPECT_TRUE(outcome.strategy_yaml.empty());
}

TEST(StrategySearch, SaysWhatIsEstimatedWhereNothingWasSimulated) {
  SearchRequest stopping = request();
  int asked = 0;
  stopping.stop_requested = [&] { return ++asked > 5; };  // once for each combination of degrees
  const SearchOutcome outcome = search(stopping);
  EXPECT_FALSE(outcome.complete);
  EXPECT_TRUE(outcome.proposals.empty());
  EXPECT_THAT(outcome.notes, ::testing::Contains(::testing::AllOf(
                                 HasSubstr("stopped before anything was simulated, when 5 of "),
                                 HasSubstr("the best estimate among them"))));
}

TEST(StrategySearch, SimulatesSomethingBeforeItHasLookedAtAllOfALargeMachine) {
  Files files = small_sweep();
  std::string& machine = files.at("lab/machine.yaml");
  machine.replace(machine.find("rows: 4, columns: 4"), 19, "rows: 250, columns: 250");
  SearchRequest stopping = request();
  bool stopped = false;
  stopping.on_note = [&](const std::string& text) {
    stopped = stopped || text.starts_with("best so far");
  };
  stopping.stop_requested = [&] { return stopped; };
  const SearchOutcome outcome = search(stopping, files);
  EXPECT_FALSE(outcome.complete);
  EXPECT_EQ(outcome.proposals.size(), 1U);
  EXPECT_THAT(outcome.strategy_yaml, HasSubstr("The search had not ended"));
}

TEST(StrategySearch, SaysNothingOfAStrategyThatNobodyGave) {
  Files files = small_sweep();
  std::string& text = files.at("lab/experiment.yaml");
  text.erase(text.find("strategy:"));
  const SearchOutcome outcome = search(request(), files);
  ASSERT_FALSE(outcome.strategy_yaml.empty());
  EXPECT_THAT(to_table(outcome), ::testing::Not(HasSubstr("own strategy")));
  EXPECT_TRUE(outcome.fallen_out.empty());
}

// One tile would take longer than simulated time goes.
TEST(StrategySearch, GoesOnWhereSomeCandidatesLeaveTheRangeOfTimes) {
  Files files = small_sweep();
  std::string& text = files.at("lab/experiment.yaml");
  text.erase(text.find("strategy:"));
  std::string& machine = files.at("lab/machine.yaml");
  machine.replace(machine.find("1 TFLOP/s"), 9, "10 FLOP/s");
  for (const std::string batch : {"workload.batch=40", "workload.batch=640"}) {
    SearchRequest slow = request();
    slow.overrides = {batch, "machine.tile.sram=1 GB"};
    slow.kept = {"data=1", "chunks=1", "micro_batch=4", "schedule=1f1b"};
    slow.simulated = 2;
    const SearchOutcome outcome = search(slow, files);
    EXPECT_TRUE(outcome.complete);
    EXPECT_GT(outcome.fitting, 0U);
    EXPECT_EQ(outcome.strategy_yaml.empty(), batch == "workload.batch=640") << batch;
  }
}

// Of one that goes on, or was killed, it said "complete": true.
TEST(StrategySearch, SaysThatItHasNotEnded) {
  SearchRequest killed = request();
  killed.folder = ::testing::TempDir() + "plan_that_is_killed";
  std::filesystem::remove_all(killed.folder);
  const std::string path = killed.folder + "/plan.json";
  killed.on_note = [&](const std::string& text) {
    if (text.find(" simulated") != std::string::npos && std::filesystem::exists(path)) {
      throw InternalError("killed");
    }
  };
  EXPECT_THROW(search(killed), InternalError);
  const std::string known = config::load_text_file(path);
  EXPECT_THAT(known, HasSubstr("\"complete\": false"));
  EXPECT_THAT(known, Not(HasSubstr("\"left\": 0,")));
  killed.on_note = nullptr;
  EXPECT_TRUE(search(killed).complete);
  EXPECT_THAT(config::load_text_file(path), HasSubstr("\"complete\": true"));
}

TEST(StrategySearch, GoesOnWhereItStopped) {
  const SearchOutcome expected = search(request());
  SearchRequest first = request();
  first.folder = ::testing::TempDir() + "plan_that_stops";
  std::filesystem::remove_all(first.folder);
  first.stop_requested = [&] { return std::filesystem::exists(first.folder + "/simulated.0.log"); };
  const SearchOutcome begun = search(first);
  EXPECT_FALSE(begun.complete);
  SearchRequest again = request_in(first.folder);
  again.experiment = request().experiment;  // of texts in memory
  const SearchOutcome done = search(again);
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(to_table(done), to_table(expected));
  EXPECT_EQ(done.strategy_yaml, expected.strategy_yaml);
  SearchRequest other = again;
  other.overrides = {"machine.tile.sram=2 MB"};
  EXPECT_THROW(search(other), ConfigError);
}

}  // namespace
}  // namespace tessera::explore::strategy_search_test
