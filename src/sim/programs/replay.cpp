#include "tessera/sim/programs/replay.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuts/idle_ranks.hpp"
#include "jobs/joint_work.hpp"
#include "memory/memory_check.hpp"
#include "notes/notes.hpp"
#include "programs/job.hpp"
#include "results/iteration.hpp"
#include "results/results.hpp"
#include "run/lock.hpp"
#include "tessera/core/error.hpp"
#include "tessera/sim/cuts/cuts.hpp"

namespace tessera::sim {
namespace {

// Times that must grow evenly: of the iteration, then of each activity of all tiles and each stage.
// Means over tiles are rounded down, so that a mean's growth may differ by one. None may shrink: a
// stage that waits less with each further micro-batch takes longer for one than the iteration grows
// by, and will hold up all others once it waits no more.
std::vector<std::int64_t> times_of(const trace::Summary& summary) {
  std::vector<std::int64_t> times{summary.simulated_time_ps};
  for (const trace::Breakdown& row : summary.breakdown) {
    for (const auto& [activity, mean] : row.mean_ps) {
      times.push_back(static_cast<std::int64_t>(mean));
    }
  }
  return times;
}

bool grows_evenly(const std::array<trace::Summary, 2>& before, const trace::Summary& last) {
  const std::vector<std::int64_t> first = times_of(before[0]);
  const std::vector<std::int64_t> second = times_of(before[1]);
  const std::vector<std::int64_t> third = times_of(last);
  if (third[0] - second[0] != second[0] - first[0]) {
    return false;
  }
  for (std::size_t i = 1; i < first.size(); ++i) {
    const std::int64_t bend = third[i] - 2 * second[i] + first[i];
    if (bend < -2 || bend > 2 || third[i] < second[i] - 2) {
      return false;
    }
  }
  return true;
}

// Of the only job of a list. Its start is the same in both.
void go_on_evenly(const trace::TenantResult& before, std::uint64_t steps,
                  trace::TenantResult& last) {
  last.end_ps += (last.end_ps - before.end_ps) * static_cast<std::int64_t>(steps);
  last.executed_flops_per_iteration +=
      (last.executed_flops_per_iteration - before.executed_flops_per_iteration) *
      static_cast<double>(steps);
  note_times(last);
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
  const auto put_on = [&](const auto& earlier, auto& bytes) {
    if (earlier && bytes) {
      using Number = std::remove_cvref_t<decltype(*bytes)>;
      *bytes += (*bytes - *earlier) * static_cast<Number>(steps);
    }
  };
  put_on(before.message_bytes, last.message_bytes);
  put_on(before.collective_bytes, last.collective_bytes);
  put_on(before.memory_read_bytes, last.memory_read_bytes);
  put_on(before.memory_written_bytes, last.memory_written_bytes);
  put_on(before.memory_bytes, last.memory_bytes);
  last.executed_flops_per_iteration +=
      (last.executed_flops_per_iteration - before.executed_flops_per_iteration) *
      static_cast<double>(steps);
  if (!last.tenants.empty()) {
    go_on_evenly(before.tenants.front(), steps, last.tenants.front());
  }
  last.replayed_micro_batches = replayed;
  last.notes.push_back(std::to_string(replayed) +
                       " micro-batches of an iteration were not simulated: they are extrapolated "
                       "from three runs with fewer (run.replay)");
  note_iteration(experiment, last);
}

// Of an iteration with all its micro-batches, of which fewer were simulated.
void note_whole_peaks(const Experiment& experiment, const plan::Plan& whole,
                      trace::Summary& summary) {
  for (std::uint32_t stage = 0; stage < summary.peak_memory.size(); ++stage) {
    summary.peak_memory[stage] =
        peak_row(summary.peak_memory[stage].name,
                 plan::peak_over(experiment.machine, whole, stage,
                                 whole.strategy.passes(stage, whole.training)));
  }
}

// What was known before the run, with the plan of the whole in place of that of fewer.
void note_whole(Experiment& experiment, plan::Plan& whole, trace::Summary& summary) {
  plan::Plan& own = experiment.single_job()->planned()->plan;
  const auto of_few =
      static_cast<std::ptrdiff_t>(notes_before(experiment, *work_of(experiment)).size());
  std::swap(own, whole);
  std::vector<std::string> notes = notes_before(experiment, *work_of(experiment));
  std::swap(own, whole);
  notes.insert(notes.end(), summary.notes.begin() + of_few, summary.notes.end());
  summary.notes = std::move(notes);
}

// Tries of an iteration with fewer micro-batches than it has.
class Trials {
 public:
  // All must outlive it.
  Trials(Experiment& experiment, comm::Communicator& communicator, const RunRequest& request)
      : experiment_(experiment),
        communicator_(communicator),
        request_(request),
        whole_(experiment.plan().strategy.micro_batches) {}

  std::uint32_t whole() const { return whole_; }
  // Three runs, the first with `few` micro-batches or a few more, each with `step` more than the
  // one before. What is to be said where they grow evenly, or one came to no end; else none.
  std::optional<trace::Summary> run_three(std::uint32_t few, std::uint32_t step) {
    few += (whole_ - few) % step;
    std::array<trace::Summary, 2> before;
    RunRequest trial = request_;
    trial.traced = false;
    trial.complete_summary = [](trace::Summary&) { return false; };
    for (std::uint32_t i = 0; i < before.size(); ++i) {
      before[i] = run_with(few + i * step, trial);
      if (before[i].status != "finished") {
        return before[i];
      }
    }
    bool settled = false;
    const std::uint32_t replayed = whole_ - few - 2 * step;
    RunRequest last = request_;
    last.complete_summary = [&](trace::Summary& summary) {
      settled = grows_evenly(before, summary);
      if (settled) {
        go_on_evenly(before[1], replayed / step, replayed, experiment_, summary);
        note_whole_peaks(experiment_, whole_plan_, summary);
        note_whole(experiment_, whole_plan_, summary);
      }
      return settled;
    };
    trace::Summary summary = run_with(few + 2 * step, last);
    const bool is_said = settled || summary.status != "finished";
    return is_said ? std::optional(std::move(summary)) : std::nullopt;
  }
  // `why` nothing is replayed.
  trace::Summary run_whole(const std::string& why) {
    RunRequest all = request_;
    all.complete_summary = [&](trace::Summary& summary) {
      summary.notes.push_back("run.replay has no effect: all " + std::to_string(whole_) +
                              " micro-batches of an iteration were simulated, as " + why);
      return !request_.complete_summary || request_.complete_summary(summary);
    };
    return run(experiment_, communicator_, all);
  }

 private:
  // With a plan of fewer micro-batches, which keeps in SRAM what the whole iteration does there;
  // afterwards the experiment has its own again.
  trace::Summary run_with(std::uint32_t count, const RunRequest& request) {
    PlannedWork& planned = *experiment_.single_job()->planned();
    plan::Strategy strategy = planned.plan.strategy;
    strategy.micro_batches = count;
    strategy.whole_micro_batches = whole_;
    whole_plan_ = std::exchange(planned.plan, plan_of(experiment_, planned.workload, strategy));
    if (request_.hooks.on_note && communicator_.rank() == 0) {
      request_.hooks.on_note("simulating " + std::to_string(count) + " of " +
                             std::to_string(whole_) + " micro-batches, to see whether they repeat");
    }
    trace::Summary summary = run(experiment_, communicator_, request);
    planned.plan = std::move(whole_plan_);
    return summary;
  }

  Experiment& experiment_;
  comm::Communicator& communicator_;
  const RunRequest& request_;
  std::uint32_t whole_;
  plan::Plan whole_plan_;  // while the experiment has another
};

// Work beside collectives may repeat after some micro-batches, each of which takes another time:
// once, twelve at a time are looked at, which finds that they repeat after 2, 3, 4, 6 or 12.
constexpr std::uint32_t long_step = 12;

trace::Summary run_all(Experiment& experiment, comm::Communicator& communicator,
                       const RunRequest& given) {
  if (!experiment.options.replay) {
    return run(experiment, communicator, given);
  }
  RunRequest request = given;
  request.resumable = false;
  const plan::Strategy& strategy = experiment.plan().strategy;
  if (request.resume || request.checkpoints.wall_s > 0 ||
      !request.checkpoints.simulated.is_never()) {
    throw ConfigError("run.replay: exact does not go together with checkpoints");
  }
  if (!strategy.order.empty()) {
    throw ConfigError("run.replay: exact needs a schedule by name, not strategy.order");
  }
  const std::uint32_t stages = strategy.degrees.pipeline;
  const std::uint32_t step = strategy.chunks > 1 ? stages : 1;
  std::uint32_t few = stages * strategy.chunks + 2;
  Trials trials(experiment, communicator, request);
  const std::uint32_t most = trials.whole() / 2;
  const bool is_tried = request.replay_trials > 0 && few + 2 * step < most;
  for (std::uint32_t trial = 1; trial <= request.replay_trials && few + 2 * step < most; ++trial) {
    if (auto summary = trials.run_three(few, step)) {
      return *summary;
    }
    few += (trials.whole() - few) % step;
    const bool is_long = trial == 2 && few + 3 * long_step * step < most;
    if (auto summary = is_long ? trials.run_three(few, long_step * step) : std::nullopt) {
      return *summary;
    }
    few *= 2;
  }
  return trials.run_whole(is_tried ? "no trial with fewer found that they repeat"
                                   : "there are too few to find that they repeat");
}

// Ranks without a processor, which will be idle, do not take the others' to find what those find.
CutChoice choose_where_needed(const Experiment& experiment, comm::Communicator& communicator) {
  const int processors = communicator.processors();
  const bool may_idle = experiment.options.partition == automatic_partition &&
                        experiment.options.idle_ranks && processors < communicator.size();
  if (!may_idle) {
    return choose_cut(experiment, communicator.size(), processors);
  }
  CutChoice choice;
  std::string answer;
  if (communicator.rank() < processors) {
    try {
      choice = choose_cut(experiment, communicator.size(), processors);
      answer = std::to_string(choice.ranks);
    } catch (const ConfigError& error) {  // the same on all that look
      answer = std::string("-") + error.what();
    }
  }
  answer = communicator.broadcast(answer, 0);
  if (answer.front() == '-') {
    throw ConfigError(answer.substr(1));
  }
  choice.ranks = std::stoi(answer);
  return choice;
}

}  // namespace

trace::Summary run_with_replay(Experiment& experiment, comm::Communicator& communicator,
                               const RunRequest& request) {
  trace::FolderLock lock;
  lock_folder(lock, communicator, request);
  RunRequest cut_so = request;
  cut_so.holds_lock = true;
  const auto cut = std::make_shared<const CutChoice>(choose_where_needed(experiment, communicator));
  cut_so.cut = cut;
  check_memory(experiment, *cut, communicator, request);
  if (cut->ranks == communicator.size()) {
    return run_all(experiment, communicator, cut_so);
  }
  if (cut->ranks == 1 && communicator.rank() == 0 && request.hooks.on_note) {
    request.hooks.on_note(cut->reason);  // of cuts the run tells itself
  }
  return run_on_first(cut->ranks, communicator, cut_so,
                      [&experiment](comm::Communicator& part, const RunRequest& heard) {
                        return run_all(experiment, part, heard);
                      });
}

}  // namespace tessera::sim
