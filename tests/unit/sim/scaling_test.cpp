#include "tessera/sim/scaling/scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "files.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::scaling_test {
namespace {

using testing::read;
using testing::small_experiment;

// Four entities, 0 and 1 in region 0, 2 and 3 in region 1; stored backwards.
class HandMade {
 public:
  explicit HandMade(pdes::WindowNumber width, const ClockCosts& costs = {})
      : observer_(members_, std::vector<WatchedCut>{{1, {0, 0, 0, 0}, 1}, {2, {0, 0, 1, 1}, width}},
                  costs) {}
  // Sent before all windows.
  void event(pdes::WindowNumber window, std::uint32_t source, std::uint32_t target, int times = 1) {
    for (int i = 0; i < times; ++i) {
      handle(window, source, target, send(source, target));
    }
  }
  // Gives the sequence number.
  std::uint32_t send(std::uint32_t source, std::uint32_t target) {
    if (source != target) {
      observer_.on_send(EntityId(source), sequence_, EntityId(target));
    }
    return sequence_++;
  }
  void handle(pdes::WindowNumber window, std::uint32_t source, std::uint32_t target,
              std::uint32_t sequence) {
    pdes::Event event;
    event.source = EntityId(source);
    event.target = 3 - target;  // index
    event.sequence = sequence;
    observer_.on_event(window, event);
  }
  trace::ScalingCounts two() { return observer_.finish()[1]; }
  std::vector<trace::ScalingCounts> all() { return observer_.finish(); }

 private:
  std::vector<EntityId> members_{EntityId(3), EntityId(2), EntityId(1), EntityId(0)};
  ScalingObserver observer_;
  std::uint32_t sequence_ = 0;
};

TEST(ScalingObserver, AddsUpTheLargestRegionOfEachRound) {
  HandMade run(1);
  run.event(0, 0, 0, 3);  // region 0: 4 events
  run.event(0, 0, 1);
  run.event(0, 3, 2);  // region 1: 2 events
  run.event(0, 2, 2);
  run.event(7, 3, 3, 5);  // after an idle stretch: only region 1
  const auto all = run.all();
  EXPECT_EQ(all[0].path_events, 11U);
  EXPECT_EQ(all[0].remote_events, 0U);
  const trace::ScalingCounts& two = all[1];
  EXPECT_EQ(two.events, 11U);
  EXPECT_EQ(two.largest_events, 7U);
  EXPECT_EQ(two.rounds, 2U);
  EXPECT_EQ(two.windows, 2U);
  EXPECT_EQ(two.path_events, 4U + 5U);
  EXPECT_EQ(two.remote_events, 0U);
  EXPECT_EQ(two.path_batches, 0U);
}

TEST(ScalingObserver, CountsMessagesAndPairsOnceARound) {
  HandMade run(1);
  run.event(0, 2, 0, 2);  // two messages, one batch
  run.event(0, 3, 1);     // the same batch
  run.event(0, 1, 2);     // back
  run.event(1, 1, 3);     // the next round
  const trace::ScalingCounts two = run.two();
  EXPECT_EQ(two.remote_events, 5U);
  EXPECT_EQ(two.batches, 3U);
  EXPECT_EQ(two.path_remote_events, 3U + 1U);
  EXPECT_EQ(two.path_batches, 1U + 1U);
  EXPECT_EQ(two.rounds, 2U);
}

TEST(ScalingObserver, ARoundMayHoldSeveralWindows) {
  HandMade run(3);
  run.event(0, 0, 0);
  run.event(1, 2, 2);
  run.event(2, 0, 0);  // the first round ends here
  run.event(3, 0, 0);
  run.event(4, 2, 2, 2);
  const trace::ScalingCounts two = run.two();
  EXPECT_EQ(two.rounds, 2U);
  EXPECT_EQ(two.windows, 3U);  // of region 0
  EXPECT_EQ(two.path_events, 2U + 2U);
}

TEST(ScalingObserver, ARegionAloneGoesOnTwiceAsLong) {
  HandMade run(1);
  run.event(0, 0, 0);
  run.event(1, 0, 0);  // still the first round
  run.event(2, 0, 0);  // the second one,
  run.event(3, 2, 2);  // which the other region cannot join
  EXPECT_EQ(run.two().rounds, 3U);
}

// A message takes as long as five events. Region 0 is at 10 after the first window, in which it
// sends two events; region 1 is at 3 when it needs the one, waits until 15, and answers at 17.
// Region 0 is at 14 then, waits until 22 and ends at 23; the other event came long ago.
TEST(ScalingObserver, RegionsWaitForEachOther) {
  for (const bool other_order : {false, true}) {
    HandMade run(1, {.message = 5});
    if (other_order) {
      run.event(0, 2, 2, 2);
    }
    run.event(0, 0, 0, 5);
    const std::uint32_t there = run.send(0, 2);
    const std::uint32_t later = run.send(0, 3);
    run.event(0, 0, 0, 5);
    if (!other_order) {
      run.event(0, 2, 2, 2);
    }
    run.event(1, 3, 3);
    if (other_order) {
      run.event(2, 0, 0, 4);
    }
    run.event(2, 2, 2);
    const std::uint32_t back = run.send(2, 1);  // known before what it waits for
    run.handle(2, 0, 2, there);
    if (!other_order) {
      run.event(2, 0, 0, 4);
    }
    run.handle(3, 2, 1, back);
    run.handle(4, 0, 3, later);
    const trace::ScalingCounts two = run.two();
    EXPECT_EQ(two.events, 21U);
    EXPECT_EQ(two.remote_events, 3U);
    EXPECT_DOUBLE_EQ(two.perfect.path, 23);
    EXPECT_EQ(two.perfect.waits, 1U);
    EXPECT_EQ(two.perfect.all_waits, 2U);
    // Region 0 asks at 14, is heard at 19 and answered at 24; region 1 was heard before it sent.
    EXPECT_DOUBLE_EQ(two.promised.path, 25);
    EXPECT_EQ(two.promised.all_waits, 2U);
    EXPECT_EQ(two.promised.exchanges, 1U);
  }
}

TEST(ScalingObserver, OneRegionNeverWaits) {
  HandMade run(1);
  run.event(0, 0, 3, 5);
  run.event(3, 1, 2);
  const trace::ScalingCounts one = run.all().front();
  EXPECT_DOUBLE_EQ(one.perfect.path, 6);
  EXPECT_EQ(one.perfect.all_waits + one.promised.all_waits, 0U);
}

TEST(ScalingObserver, ManyPairsInARound) {
  constexpr std::uint32_t regions = 300;
  std::vector<EntityId> members;
  WatchedCut cut{regions, {}, 1};
  for (std::uint32_t entity = 0; entity < regions; ++entity) {
    members.emplace_back(entity);
    cut.owner.push_back(entity);
  }
  ScalingObserver observer(members, std::vector<WatchedCut>{cut});
  for (pdes::WindowNumber window = 0; window < 2; ++window) {
    for (std::uint32_t target = 0; target < regions; ++target) {
      for (std::uint32_t source = 0; source < regions; ++source) {
        pdes::Event event;
        event.source = EntityId(source);
        event.target = target;
        event.sequence = static_cast<std::uint32_t>(window) * regions + target;
        observer.on_send(event.source, event.sequence, EntityId(target));
        observer.on_event(window, event);
      }
    }
  }
  const trace::ScalingCounts counts = observer.finish().front();
  EXPECT_EQ(counts.batches, 2U * regions * (regions - 1));
  EXPECT_EQ(counts.remote_events, 2U * regions * (regions - 1));
  EXPECT_EQ(counts.path_batches, 2U * (regions - 1));
}

TEST(ScalingObserver, AnEventThatNobodySentIsADefect) {
  HandMade run(1);
  EXPECT_THROW(run.handle(0, 0, 2, 7), InternalError);
}

trace::ScalingReport predicted(Experiment& experiment, std::vector<int> ranks) {
  ScalingRequest request;
  request.ranks = std::move(ranks);
  request.costs.event_s = 1e-7;
  request.costs.bandwidth = 1e9;
  return predict_scaling(experiment, request);
}

TEST(Scaling, CountsAreThoseOfRealRuns) {
  for (const std::string partition : {"blocks", "metis", "stripes"}) {
    for (const std::string network : {"packet", "analytical"}) {
      Experiment experiment = read(
          small_experiment(), {"run.partition=" + partition, "machine.network.model=" + network,
                               "run.synchronization=window"});
      const trace::ScalingReport report = predicted(experiment, {2, 3, 4});
      ASSERT_EQ(report.predictions.size(), 4U);
      for (int ranks = 2; ranks <= 4; ++ranks) {
        const trace::ScalingCounts& counts =
            report.predictions[static_cast<std::size_t>(ranks - 1)].counts;
        comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
          const trace::Summary summary = run(experiment, communicator, {});
          EXPECT_EQ(counts.events, summary.events);
          EXPECT_EQ(counts.largest_events,
                    *std::max_element(summary.rank_events.begin(), summary.rank_events.end()));
          EXPECT_EQ(counts.remote_events, summary.remote_events);
          EXPECT_EQ(counts.windows, summary.windows);
          EXPECT_GE(static_cast<double>(counts.rounds), 0.9 * static_cast<double>(summary.rounds));
          EXPECT_LE(static_cast<double>(counts.rounds), 1.5 * static_cast<double>(summary.rounds));
        });
      }
    }
  }
}

// The clocks of a run stand between perfect balance and one rank after the other.
TEST(Scaling, TheBoundIsAboveThePrediction) {
  Experiment experiment = read(small_experiment());
  use_synchronization(experiment, "window");
  const trace::ScalingReport report = predicted(experiment, {2, 4, 16});
  for (const trace::ScalingPrediction& row : report.predictions) {
    const auto mean = static_cast<double>(row.counts.largest_events);
    EXPECT_GE(row.counts.perfect.path, mean);
    EXPECT_GE(row.counts.promised.path, row.counts.perfect.path);
    EXPECT_LE(row.bound, row.counts.ranks);
    EXPECT_LE(row.promises_speed_up, row.bound);
    EXPECT_DOUBLE_EQ(row.speed_up, row.rounds_speed_up);  // the policy is `window`
    EXPECT_EQ(row.counts.perfect.waits > 0, row.counts.ranks > 1);
    EXPECT_LE(row.counts.perfect.all_waits, row.counts.remote_events);
  }
}

// What promises nothing runs in rounds, whatever the policy is called.
TEST(Scaling, IsByRoundsWhereNothingIsPromised) {
  Experiment promising = read(small_experiment());
  EXPECT_FALSE(predicted(promising, {2}).by_rounds);
  Experiment fair =
      read(small_experiment(), {"machine.memory={model: channel, arbitration: fair}"});
  const trace::ScalingReport report = predicted(fair, {2});
  EXPECT_EQ(fair.options.synchronization, "promise");
  EXPECT_EQ(report.synchronization, "window");
  EXPECT_TRUE(report.by_rounds);
  for (const trace::ScalingPrediction& row : report.predictions) {
    EXPECT_DOUBLE_EQ(row.speed_up, row.rounds_speed_up);
  }
}

// Columns for one or two ranks.
const Registration two_at_most(machine::partitioners(), {"two-at-most", "for tests", {}},
                               [](const machine::Topology& topology, int ranks,
                                  const machine::Weights& weights) {
                                 if (ranks > 2) {
                                   throw ConfigError("two at most");
                                 }
                                 return machine::partitioners().at("columns")(topology, ranks,
                                                                              weights);
                               });

TEST(Scaling, ComparesPartitions) {
  Experiment experiment = read(small_experiment(), {"run.partition=stripes"});
  ScalingRequest request;
  request.ranks = {2, 8};
  request.partitions = {"blocks", "two-at-most"};
  request.costs.event_s = 1e-7;
  request.costs.bandwidth = 1e9;
  std::string notes;
  request.on_note = [&](const std::string& text) { notes += text + "\n"; };
  const trace::ScalingReport report = predict_scaling(experiment, request);
  EXPECT_EQ(experiment.options.partition, "stripes");
  EXPECT_EQ(report.partition, "blocks,two-at-most");
  ASSERT_EQ(report.predictions.size(), 4U);
  EXPECT_EQ(report.predictions[0].counts.ranks, 1);
  EXPECT_EQ(report.predictions[2].counts.ranks, 8);
  EXPECT_EQ(report.predictions[3].partition, "two-at-most");
  EXPECT_NE(notes.find("two-at-most is left out on 8 ranks: two at most"), std::string::npos);
  Experiment alone = read(small_experiment(), {"run.partition=columns"});
  const trace::ScalingCounts columns = predicted(alone, {2}).predictions[1].counts;
  EXPECT_EQ(report.predictions[3].counts.remote_events, columns.remote_events);
  EXPECT_DOUBLE_EQ(report.predictions[3].counts.perfect.path, columns.perfect.path);
  request.partitions = {"two-at-least"};
  EXPECT_THROW(predict_scaling(experiment, request), ConfigError);
  request.partitions = {"two-at-most"};
  EXPECT_THROW(predict_scaling(experiment, request), ConfigError);
  EXPECT_EQ(experiment.options.partition, "stripes");
}

// Micro-batches that repeat are not simulated in a run, and are here.
TEST(Scaling, SaysThatItIsOfTheWholeIteration) {
  Experiment whole = read(small_experiment(), {"workload.batch=64"});
  Experiment replayed = read(small_experiment(), {"workload.batch=64", "run.replay=exact"});
  const trace::ScalingReport expected = predicted(whole, {2});
  const trace::ScalingReport report = predicted(replayed, {2});
  EXPECT_TRUE(expected.notes.empty());
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.predictions[1].counts.events, expected.predictions[1].counts.events);
  EXPECT_NE(trace::to_table(report).find("note: events and times are those of the whole"),
            std::string::npos);
  EXPECT_NE(trace::to_json(report).find("run.replay: exact"), std::string::npos);
}

TEST(Scaling, RefusesMoreRanksThanNodes) {
  Experiment experiment = read(small_experiment());
  EXPECT_THROW(predicted(experiment, {17}), ConfigError);
  EXPECT_THROW(predicted(experiment, {0}), ConfigError);
}

TEST(Scaling, AStoppedRunPredictsNothing) {
  Experiment experiment = read(small_experiment());
  ScalingRequest request;
  request.ranks = {2};
  request.costs.event_s = 1e-7;
  request.costs.bandwidth = 1e9;
  request.stop_requested = [] { return true; };
  EXPECT_THROW(predict_scaling(experiment, request), StopRequested);
  request.costs.event_s = 0;  // to be measured in a part before the run
  EXPECT_THROW(predict_scaling(experiment, request), StopRequested);
}

TEST(Scaling, MeasuresTheCostOfAnEvent) {
  Experiment experiment = read(small_experiment());
  ScalingRequest request;
  request.ranks = {2};
  request.costs.bandwidth = 1e9;
  const trace::ScalingReport report = predict_scaling(experiment, request);
  EXPECT_GT(report.costs.event_s, 0);
  EXPECT_LT(report.costs.event_s, 1e-3);
}

}  // namespace
}  // namespace tessera::sim::scaling_test
