#include "tessera/sim/scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "files.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

using testing::read;
using testing::small_experiment;

// Four entities, 0 and 1 in region 0, 2 and 3 in region 1; stored backwards.
class HandMade {
 public:
  explicit HandMade(pdes::WindowNumber width)
      : observer_(members_,
                  std::vector<WatchedCut>{{1, {0, 0, 0, 0}, 1}, {2, {0, 0, 1, 1}, width}}) {}
  void event(pdes::WindowNumber window, std::uint32_t source, std::uint32_t target, int times = 1) {
    pdes::Event event;
    event.source = EntityId(source);
    event.target = 3 - target;  // index
    for (int i = 0; i < times; ++i) {
      observer_.on_event(window, event);
    }
  }
  trace::ScalingCounts two() { return observer_.finish()[1]; }
  std::vector<trace::ScalingCounts> all() { return observer_.finish(); }

 private:
  std::vector<EntityId> members_{EntityId(3), EntityId(2), EntityId(1), EntityId(0)};
  ScalingObserver observer_;
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
        observer.on_event(window, event);
      }
    }
  }
  const trace::ScalingCounts counts = observer.finish().front();
  EXPECT_EQ(counts.batches, 2U * regions * (regions - 1));
  EXPECT_EQ(counts.remote_events, 2U * regions * (regions - 1));
  EXPECT_EQ(counts.path_batches, 2U * (regions - 1));
}

trace::ScalingReport predicted(const Experiment& experiment, std::vector<int> ranks) {
  ScalingRequest request;
  request.ranks = std::move(ranks);
  request.costs.event_s = 1e-7;
  request.costs.bandwidth = 1e9;
  return predict_scaling(experiment, request);
}

TEST(Scaling, CountsAreThoseOfRealRuns) {
  for (const std::string partition : {"blocks", "metis", "stripes"}) {
    for (const std::string network : {"packet", "analytical"}) {
      const Experiment experiment = read(
          small_experiment(), {"run.partition=" + partition, "machine.network.model=" + network});
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

TEST(Scaling, RefusesMoreRanksThanNodes) {
  const Experiment experiment = read(small_experiment());
  EXPECT_THROW(predicted(experiment, {17}), ConfigError);
  EXPECT_THROW(predicted(experiment, {0}), ConfigError);
}

TEST(Scaling, AStoppedRunPredictsNothing) {
  const Experiment experiment = read(small_experiment());
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
  const Experiment experiment = read(small_experiment());
  ScalingRequest request;
  request.ranks = {2};
  request.costs.bandwidth = 1e9;
  const trace::ScalingReport report = predict_scaling(experiment, request);
  EXPECT_GT(report.costs.event_s, 0);
  EXPECT_LT(report.costs.event_s, 1e-3);
}

}  // namespace
}  // namespace tessera::sim
