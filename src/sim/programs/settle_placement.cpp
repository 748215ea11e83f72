#include "programs/settle_placement.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "jobs/joint_work.hpp"
#include "programs/job.hpp"
#include "tessera/core/error.hpp"
#include "tessera/network/sharing.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

// Of an iteration: some tenths of a second for each placement.
constexpr std::uint64_t most_events = 2'000'000;

std::uint64_t events_of(const Experiment& experiment) {
  const std::vector<std::uint64_t> events = work_of(experiment)->predicted_events();
  return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
}

// The work of an experiment's only job on these tiles.
plan::Plan placed(const Experiment& experiment, const std::vector<EntityId>& tiles,
                  plan::Aggregation aggregation) {
  plan::Strategy strategy = experiment.plan().strategy;
  strategy.aggregation = aggregation;
  strategy.placement.tiles = tiles;
  return plan_of(experiment, experiment.planned()->workload, strategy);
}

// Of one iteration, on one rank; `never` where it does not come to its end, or memories are too
// small.
SimTime simulated(Experiment& experiment, const std::vector<EntityId>& tiles) {
  plan::Plan plan;
  try {
    plan = placed(experiment, tiles, experiment.plan().strategy.aggregation);
  } catch (const ConfigError&) {
    return SimTime::never();
  }
  Job& job = *experiment.only_job();
  std::swap(job.planned()->plan, plan);
  const RunOptions options = experiment.options;
  const std::uint32_t iterations = std::exchange(job.iterations, 1);
  experiment.options.trace = TraceLevel::none;
  experiment.options.weights = "none";
  experiment.options.replay = false;
  const auto communicator = comm::make_in_process();
  const trace::Summary summary = run(experiment, *communicator, {});
  experiment.options = options;
  job.iterations = iterations;
  std::swap(job.planned()->plan, plan);
  return summary.status == "finished" ? SimTime::from_ps(summary.simulated_time_ps)
                                      : SimTime::never();
}

SimTime estimated(const Experiment& experiment, const std::vector<EntityId>& tiles) {
  try {
    return estimated_iteration(experiment, placed(experiment, tiles, plan::Aggregation::none),
                               network::sharing_of(*experiment.network));
  } catch (const ConfigError&) {
    return SimTime::never();
  }
}

// Of the experiment's only job.
void settle(Experiment& experiment) {
  const bool is_small = events_of(experiment) <= most_events;
  const auto time_of = [&](const std::vector<EntityId>& tiles) {
    return is_small ? simulated(experiment, tiles) : estimated(experiment, tiles);
  };
  PlannedWork& planned = *experiment.only_job()->planned();
  std::vector<EntityId> best = planned.plan.placement.tiles();
  SimTime least = time_of(best);
  for (const std::vector<EntityId>& tiles :
       plan::named_starts(experiment.machine, planned.plan.strategy.placement)) {
    const SimTime time = time_of(tiles);
    if (time < least) {
      least = time;
      best = tiles;
    }
  }
  planned.plan = placed(experiment, best, planned.plan.strategy.aggregation);
  if (planned.plan.strategy.check_capacity) {
    planned.in_channels = plan::bytes_in_channels(experiment.machine, planned.plan);
  }
}

}  // namespace

void settle_placement(Experiment& experiment, PlacedJob& placed) {
  const PlannedWork* const planned = placed.job->planned();
  if (planned == nullptr || planned->plan.strategy.layout != "optimized") {
    return;
  }
  PlacedJob alone{"", placed.tiles, SimTime::zero(), std::move(placed.job)};
  std::vector<PlacedJob> all = std::exchange(experiment.jobs, {});  // `placed` stays where it is
  experiment.jobs.push_back(std::move(alone));
  settle(experiment);
  placed.job = std::move(experiment.jobs.front().job);
  experiment.jobs = std::move(all);
}

}  // namespace tessera::sim
