#include "settle_placement.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "job_reader.hpp"
#include "tessera/core/error.hpp"
#include "tessera/plan/placement.hpp"
#include "tessera/sim/simulation.hpp"
#include "work.hpp"

namespace tessera::sim {
namespace {

// Of an iteration: some tenths of a second for each placement.
constexpr std::uint64_t most_events = 2'000'000;

std::uint64_t predicted_events(const Experiment& experiment) {
  const std::vector<std::uint64_t> events = work_of(experiment)->predicted_events();
  return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
}

// The experiment's plan on these tiles.
plan::Plan placed(const Experiment& experiment, const std::vector<EntityId>& tiles,
                  plan::Aggregation aggregation) {
  plan::Strategy strategy = experiment.plan.strategy;
  strategy.aggregation = aggregation;
  strategy.placement.tiles = tiles;
  return plan_of(experiment, experiment.workload, strategy);
}

// Of one iteration, on one rank; `never` where it does not come to its end, or memories are too
// small.
SimTime simulated(Experiment& experiment, const std::vector<EntityId>& tiles) {
  plan::Plan plan;
  try {
    plan = placed(experiment, tiles, experiment.plan.strategy.aggregation);
  } catch (const ConfigError&) {
    return SimTime::never();
  }
  std::swap(experiment.plan, plan);
  const RunOptions options = experiment.options;
  const std::uint32_t iterations = std::exchange(experiment.iterations, 1);
  experiment.options.trace = TraceLevel::none;
  experiment.options.weights = "none";
  experiment.options.replay = false;
  const auto communicator = comm::make_in_process();
  const trace::Summary summary = run(experiment, *communicator, {});
  experiment.options = options;
  experiment.iterations = iterations;
  std::swap(experiment.plan, plan);
  return summary.status == "finished" ? SimTime::from_ps(summary.simulated_time_ps)
                                      : SimTime::never();
}

SimTime estimated(const Experiment& experiment, const std::vector<EntityId>& tiles) {
  try {
    return estimated_iteration(experiment, placed(experiment, tiles, plan::Aggregation::none));
  } catch (const ConfigError&) {
    return SimTime::never();
  }
}

bool is_to_settle(const Job& job) {
  return !job.plan.stages.empty() && job.plan.strategy.layout == "optimized";
}

}  // namespace

void settle_placement(Experiment& experiment) {
  if (!is_to_settle(experiment)) {
    return;
  }
  const bool is_small = predicted_events(experiment) <= most_events;
  const auto time_of = [&](const std::vector<EntityId>& tiles) {
    return is_small ? simulated(experiment, tiles) : estimated(experiment, tiles);
  };
  std::vector<EntityId> best = experiment.plan.placement.tiles();
  SimTime least = time_of(best);
  for (const std::vector<EntityId>& tiles :
       plan::named_starts(experiment.machine, experiment.plan.strategy.placement)) {
    const SimTime time = time_of(tiles);
    if (time < least) {
      least = time;
      best = tiles;
    }
  }
  experiment.plan = placed(experiment, best, experiment.plan.strategy.aggregation);
  if (experiment.plan.strategy.check_capacity) {
    experiment.in_channels = plan::bytes_in_channels(experiment.machine, experiment.plan);
  }
}

void settle_placement(Experiment& experiment, Tenant& tenant) {
  if (!is_to_settle(tenant.job)) {
    return;
  }
  std::vector<Tenant> all = std::exchange(experiment.tenants, {});  // the tenant stays where it is
  std::swap(static_cast<Job&>(experiment), tenant.job);
  settle_placement(experiment);
  std::swap(static_cast<Job&>(experiment), tenant.job);
  experiment.tenants = std::move(all);
}

}  // namespace tessera::sim
