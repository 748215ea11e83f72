#include "programs/settle_placement.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "jobs/joint_work.hpp"
#include "programs/job.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/network/sharing.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim {
namespace {

// With all placements together, by each measure: a few seconds.
constexpr std::uint64_t most_events = 16'000'000;

using PlacedTiles = std::vector<EntityId>;

// Iterations that are simulated with a placement.
struct PlacementMeasure {
  plan::Aggregation aggregation = plan::Aggregation::none;
  // Of one iteration, all; or of two, as whose difference all others go on.
  std::vector<std::uint32_t> micro_batches;
  std::uint32_t iterations = 1;  // one after the other
};

std::uint64_t events_of(const Experiment& experiment) {
  return work_of(experiment)->predicted_events().sum();
}

// A few more than fill the pipeline, and twice as many; empty where that is no less than all.
std::vector<std::uint32_t> few_micro_batches(const plan::Strategy& strategy) {
  const std::uint32_t whole = strategy.micro_batches;
  const std::uint32_t stages = strategy.degrees.pipeline;
  const std::uint32_t step = strategy.chunks > 1 ? stages : 1;
  std::uint32_t few = stages * strategy.chunks + 2;
  if (!strategy.order.empty() || whole <= few) {
    return {};
  }
  few += (whole - few) % step;
  const std::uint32_t more = few + (few + step - 1) / step * step;
  return few + more < whole ? std::vector<std::uint32_t>{few, more} : std::vector<std::uint32_t>{};
}

// Those that take less than `whole`, the closest first.
std::vector<PlacementMeasure> closest_of(const plan::Strategy& strategy,
                                         const PlacementMeasure& whole) {
  const std::vector<std::uint32_t> few = few_micro_batches(strategy);
  std::vector<PlacementMeasure> measures;
  if (whole.iterations > 1) {
    measures.push_back({whole.aggregation, whole.micro_batches});
  }
  for (const plan::Aggregation aggregation :
       {plan::Aggregation::none, plan::Aggregation::tensor, plan::Aggregation::stage}) {
    const bool is_own = aggregation == strategy.aggregation;
    if (aggregation >= strategy.aggregation && !(is_own && few.empty())) {
      measures.push_back({aggregation, few.empty() ? whole.micro_batches : few});
    }
  }
  return measures;
}

std::string about(const PlacementMeasure& measure, const plan::Strategy& own) {
  const std::string batches = measure.micro_batches.size() == 1
                                  ? "an iteration"
                                  : "iterations of " + std::to_string(measure.micro_batches[0]) +
                                        " and " + std::to_string(measure.micro_batches[1]) +
                                        " of its " + std::to_string(own.micro_batches) +
                                        " micro-batches";
  if (measure.aggregation == own.aggregation) {
    return batches;
  }
  return batches + " with a tile for each " +
         (measure.aggregation == plan::Aggregation::tensor ? "tensor group" : "stage");
}

// Compares placements of an experiment's only job.
class PlacementComparison {
 public:
  PlacementComparison(Experiment& experiment, std::vector<PlacedTiles> placements)
      : experiment_(experiment),
        strategy_(experiment.plan().strategy),
        whole_{strategy_.aggregation,
               {strategy_.micro_batches},
               std::max(1U, experiment.only_job()->iterations)},
        placements_(std::move(placements)) {}

  // Of those that are equally fast the first.
  const PlacedTiles& fastest() {
    std::vector<std::size_t> order(placements_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (within_budget(order, whole_) < order.size()) {
      by_ = screen(order);
      const std::size_t kept = within_budget(order, whole_);
      if (kept < 2) {
        return placements_[order.front()];
      }
      by_ = "whole runs of the " + std::to_string(kept) + " of " + std::to_string(order.size()) +
            " that " + by_ + " told to be the fastest";
      order.resize(kept);
      std::ranges::sort(order);
    }
    return placements_[sorted(order, [&](std::size_t i) {
                         return time(placements_[i], whole_);
                       }).front()];
  }
  // What else than whole runs they were compared by; "": nothing.
  const std::string& by() const { return by_; }

 private:
  // By time, as they come where that is the same.
  template <class TimeOf>
  static std::vector<std::size_t> sorted(std::vector<std::size_t> order, const TimeOf& time_of) {
    std::map<std::size_t, SimTime> times;
    for (const std::size_t number : order) {
      times[number] = time_of(number);
    }
    std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return times.at(i); });
    return order;
  }

  // By the closest measure of all that does not take long; says which.
  std::string screen(std::vector<std::size_t>& order) {
    for (const PlacementMeasure& measure : closest_of(strategy_, whole_)) {
      if (within_budget(order, measure) == order.size()) {
        order = sorted(order, [&](std::size_t i) { return time(placements_[i], measure); });
        return about(measure, strategy_);
      }
    }
    order = sorted(order, [&](std::size_t i) { return estimated(placements_[i]); });
    return "an estimate";
  }

  // Throws ConfigError where memories are too small.
  plan::Plan placed(const PlacedTiles& tiles, plan::Aggregation aggregation,
                    std::uint32_t micro_batches) const {
    plan::Strategy strategy = strategy_;
    strategy.aggregation = aggregation;
    strategy.micro_batches = micro_batches;
    strategy.whole_micro_batches = strategy_.micro_batches;
    strategy.placement.tiles = tiles;
    return plan_of(experiment_, experiment_.planned()->workload, strategy);
  }

  // How many, from the first on, are simulated together in the events that there are for it.
  std::size_t within_budget(const std::vector<std::size_t>& order,
                            const PlacementMeasure& measure) {
    std::uint64_t sum = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      for (const std::uint32_t count : measure.micro_batches) {
        try {
          with(placed(placements_[order[place]], measure.aggregation, count),
               [&] { sum += events_of(experiment_) * measure.iterations; });
        } catch (const ConfigError&) {
          continue;  // it takes no time to find out
        }
        if (sum > most_events) {
          return place;
        }
      }
    }
    return order.size();
  }

  // `never` where it does not come to its end, or memories are too small.
  SimTime time(const PlacedTiles& tiles, const PlacementMeasure& measure) {
    std::vector<SimTime> times;
    for (const std::uint32_t count : measure.micro_batches) {
      times.push_back(simulated(tiles, measure, count));
      if (times.back().is_never()) {
        return SimTime::never();
      }
    }
    if (times.size() == 1) {
      return times.front();
    }
    const std::uint32_t few = measure.micro_batches[0];
    const std::uint32_t more = measure.micro_batches[1];
    const Wide longer = static_cast<Wide>((times[1] - times[0]).ps()) *
                        static_cast<Wide>(strategy_.micro_batches - more) / (more - few);
    return times[1] + SimTime::from_ps(static_cast<std::int64_t>(longer));
  }

  // On one rank.
  SimTime simulated(const PlacedTiles& tiles, const PlacementMeasure& measure,
                    std::uint32_t micro_batches) {
    plan::Plan plan;
    try {
      plan = placed(tiles, measure.aggregation, micro_batches);
    } catch (const ConfigError&) {
      return SimTime::never();
    }
    const RunOptions options = experiment_.options;
    const std::uint32_t iterations =
        std::exchange(experiment_.only_job()->iterations, measure.iterations);
    experiment_.options.trace = TraceLevel::none;
    experiment_.options.weights = "none";
    experiment_.options.replay = false;
    const auto communicator = comm::make_in_process();
    trace::Summary summary;
    with(std::move(plan), [&] { summary = run(experiment_, *communicator, {}); });
    experiment_.options = options;
    experiment_.only_job()->iterations = iterations;
    return summary.status == "finished" ? SimTime::from_ps(summary.simulated_time_ps)
                                        : SimTime::never();
  }

  SimTime estimated(const PlacedTiles& tiles) const {
    try {
      return estimated_iteration(experiment_,
                                 placed(tiles, plan::Aggregation::none, strategy_.micro_batches),
                                 network::sharing_of(*experiment_.network));
    } catch (const ConfigError&) {
      return SimTime::never();
    }
  }

  // Does something while the job has another plan.
  template <class Act>
  void with(plan::Plan plan, const Act& act) {
    Job& job = *experiment_.only_job();
    std::swap(job.planned()->plan, plan);
    act();
    std::swap(job.planned()->plan, plan);
  }

  Experiment& experiment_;
  const plan::Strategy strategy_;
  const PlacementMeasure whole_;
  const std::vector<PlacedTiles> placements_;
  std::string by_;
};

// Of the experiment's only job.
void settle(Experiment& experiment) {
  PlannedWork& planned = *experiment.only_job()->planned();
  plan::Strategy strategy = planned.plan.strategy;
  std::vector<PlacedTiles> placements{planned.plan.placement.tiles()};
  for (PlacedTiles& tiles : plan::named_starts(experiment.machine, strategy.placement)) {
    if (tiles != placements.front()) {
      placements.push_back(std::move(tiles));
    }
  }
  if (placements.size() == 1) {
    strategy.placement.tiles = placements.front();
  } else {
    PlacementComparison comparison(experiment, std::move(placements));
    strategy.placement.tiles = comparison.fastest();
    planned.placed_by = comparison.by();
  }
  planned.plan = plan_of(experiment, planned.workload, strategy);
  if (strategy.check_capacity) {
    planned.in_channels = plan::bytes_in_channels(experiment.machine, planned.plan);
  }
}

}  // namespace

std::string note_of_placement(const std::string& placed_by) {
  return placed_by.empty()
             ? ""
             : "strategy.placement.layout: optimized was compared with named layouts by " +
                   placed_by +
                   ", as simulating all of them would take long: a named one may be faster";
}

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
