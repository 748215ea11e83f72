#include "tessera/sim/replay.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "results.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

// Times that must grow evenly: of the iteration, then of each activity of all tiles and each stage.
// Means over tiles are rounded down, so that a mean's growth may differ by one.
std::vector<std::int64_t> times_of(const trace::Summary& summary) {
  std::vector<std::int64_t> times{summary.simulated_time_ps};
  for (const trace::Breakdown& row : summary.breakdown) {
    for (const auto& [activity, mean] : row.mean_ps) {
      times.push_back(static_cast<std::int64_t>(mean));
    }
  }
  return times;
}

bool grows_evenly(const std::array<trace::Summary, 3>& runs) {
  const std::vector<std::int64_t> first = times_of(runs[0]);
  const std::vector<std::int64_t> second = times_of(runs[1]);
  const std::vector<std::int64_t> third = times_of(runs[2]);
  if (third[0] - second[0] != second[0] - first[0]) {
    return false;
  }
  for (std::size_t i = 1; i < first.size(); ++i) {
    const std::int64_t bend = third[i] - 2 * second[i] + first[i];
    if (bend < -2 || bend > 2) {
      return false;
    }
  }
  return true;
}

// Puts `steps` more of the difference between the last two runs on top of the last one.
void go_on_evenly(const trace::Summary& before, std::uint64_t steps, std::uint32_t replayed,
                  const Experiment& experiment, trace::Summary& last) {
  const auto on = [&](std::int64_t from, std::int64_t to) {
    return to + (to - from) * static_cast<std::int64_t>(steps);
  };
  last.simulated_time_ps = on(before.simulated_time_ps, last.simulated_time_ps);
  for (std::size_t row = 0; row < last.breakdown.size(); ++row) {
    for (std::size_t i = 0; i < last.breakdown[row].mean_ps.size(); ++i) {
      std::uint64_t& mean = last.breakdown[row].mean_ps[i].second;
      const std::uint64_t earlier = before.breakdown[row].mean_ps[i].second;
      mean = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, on(static_cast<std::int64_t>(earlier), static_cast<std::int64_t>(mean))));
    }
  }
  last.replayed_micro_batches = replayed;
  note_iteration(experiment, last);
}

}  // namespace

trace::Summary run_with_replay(Experiment& experiment, comm::Communicator& communicator,
                               const RunRequest& given) {
  if (!experiment.options.replay) {
    return run(experiment, communicator, given);
  }
  RunRequest request = given;
  request.resumable = false;
  const plan::Strategy& strategy = experiment.plan.strategy;
  if (request.resume || request.checkpoints.wall_s > 0 ||
      !request.checkpoints.simulated.is_never()) {
    throw ConfigError("run.replay: exact does not go together with checkpoints");
  }
  if (!strategy.order.empty()) {
    throw ConfigError("run.replay: exact needs a schedule by name, not strategy.order");
  }
  const std::uint32_t whole = strategy.micro_batches;
  const std::uint32_t stages = strategy.degrees.pipeline;
  const std::uint32_t step = strategy.chunks > 1 ? stages : 1;
  std::uint32_t few = stages * strategy.chunks + 2;
  while (few + 2 * step < whole / 2) {
    few += (whole - few) % step;
    std::array<trace::Summary, 3> runs;
    RunRequest trial;
    trial.hooks = request.hooks;
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      use_micro_batches(experiment, few + i * step);
      if (request.hooks.on_note && communicator.rank() == 0) {
        request.hooks.on_note("simulating " + std::to_string(few + i * step) + " of " +
                              std::to_string(whole) + " micro-batches, to see whether they repeat");
      }
      runs[i] = run(experiment, communicator, trial);
      if (runs[i].status != "finished") {
        runs[i].message += "; run.replay: exact leaves nothing to go on with";
        return runs[i];
      }
    }
    if (grows_evenly(runs)) {
      RunRequest last = request;
      const std::uint32_t replayed = whole - few - 2 * step;
      last.complete_summary = [&](trace::Summary& summary) {
        go_on_evenly(runs[1], replayed / step, replayed, experiment, summary);
      };
      return run(experiment, communicator, last);
    }
    few *= 2;
  }
  use_micro_batches(experiment, whole);
  return run(experiment, communicator, request);
}

}  // namespace tessera::sim
