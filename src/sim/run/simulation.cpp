#include "tessera/sim/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <optional>
#include <utility>

#include "experiment/description.hpp"
#include "experiment/settle_traces.hpp"
#include "memory/memory_check.hpp"
#include "results/iteration.hpp"
#include "results/rank_sums.hpp"
#include "results/results.hpp"
#include "results/trace_attributes.hpp"
#include "run/checkpoints.hpp"
#include "run/costs.hpp"
#include "run/deadlock.hpp"
#include "run/lock.hpp"
#include "run/rank_models.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/range_error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/cuts/weights.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::sim {
namespace {

using WallClock = std::chrono::steady_clock;

SimTime bin_length(const Experiment& experiment) {
  if (experiment.options.bin) {
    return *experiment.options.bin;
  }
  const std::int64_t expected = experiment.ideal_span().ps();
  return SimTime::from_ps(std::max<std::int64_t>(1, expected / experiment.options.bins));
}

// One rank's share of a run.
class RankRun {
 public:
  RankRun(const Experiment& experiment, comm::Communicator& communicator, const RunRequest& request)
      : experiment_(experiment),
        communicator_(communicator),
        request_(request),
        models_(experiment, communicator, request.cut.get()),
        checkpoints_(communicator, request.folder, experiment.configuration_hash(),
                     experiment.files),
        began_(WallClock::now()) {}

  trace::Summary run() {
    if (!writes_folder() && (wants_checkpoints() || request_.resume)) {
      throw ConfigError("checkpoints need a run folder");
    }
    refuse_endless(experiment_);
    request_.resume ? find_checkpoint() : prepare_folder();
    trace::Summary summary = described(experiment_, communicator_, models_.cut);
    summary.notes.insert(summary.notes.end(), losses_.begin(), losses_.end());
    summary.status = "running";
    if (writes_folder() && communicator_.rank() == 0) {
      write_summary(summary);
    }
    try {
      tell_partition();
      return simulate(summary);
    } catch (const comm::Aborted&) {
      throw;  // whoever gave up has said why
    } catch (const std::bad_alloc&) {
      const std::string text = out_of_memory(summary.predicted_bytes);
      note_failure(summary, text);
      throw IoError(text);
    } catch (const std::exception& error) {
      note_failure(summary, error.what());
      throw;
    }
  }

 private:
  trace::Summary simulate(trace::Summary& summary) {
    open_trace();
    if (base_) {
      go_on();
    }
    began_ = WallClock::now();
    reported_ = began_;
    reached_ = began_;
    last_checkpoint_ = began_;
    const bool complete = models_.engine.run(hooks());
    const double wall_s = since(began_);
    const std::string stuck = complete ? deadlock_report(models_) : "";
    finish(summary, complete && stuck.empty(), wall_s);
    if (!complete) {
      summary.status = "stopped";
      summary.message = "a stop was requested" + after_stop();
    } else if (!stuck.empty()) {
      summary.status = "deadlock";
      summary.message = stuck;
    } else {
      summary.status = "finished";
      if (request_.complete_summary && !request_.complete_summary(summary)) {
        return summary;
      }
      summary.message = "";
    }
    finish_folder(summary);
    return summary;
  }

  std::string after_stop() const {
    if (!request_.resumable) {
      return "; run.replay: exact leaves nothing to go on with";
    }
    return writes_folder() ? "; tessera run --resume " + request_.folder + " goes on" : "";
  }

  // In the summary, by whichever rank it happened to; also on a full disk, where nothing new can be
  // written, but what is there can be overwritten. Whether that succeeds or not, the error that
  // ends the run is the first one.
  void note_failure(trace::Summary& summary, const std::string& what) const {
    if (!writes_folder()) {
      return;
    }
    summary.status = "failed";
    summary.message = communicator_.rank() > 0
                          ? "rank " + std::to_string(communicator_.rank()) + ": " + what
                          : what;
    trace::write_or_overwrite(in_folder("summary.json"), trace::to_json(summary));
  }

  static double seconds(WallClock::duration duration) {
    return std::chrono::duration<double>(duration).count();
  }
  static double since(WallClock::time_point start) { return seconds(WallClock::now() - start); }

  bool writes_folder() const { return !request_.folder.empty(); }
  bool writes_checkpoints() const { return writes_folder() && request_.resumable; }
  bool writes_trace() const {
    return writes_folder() && request_.traced && experiment_.options.trace != TraceLevel::none;
  }
  bool wants_checkpoints() const {
    return request_.checkpoints.wall_s > 0 || !request_.checkpoints.simulated.is_never();
  }
  std::string in_folder(const std::string& name) const {
    return (std::filesystem::path(request_.folder) / name).string();
  }

  void prepare_folder() {
    if (communicator_.rank() == 0 && request_.hooks.on_warning) {
      for (const PlacedJob& placed : experiment_.jobs) {
        warn_of(placed);
      }
    }
    segments_.emplace_back();
    segments_.back().cost.ranks = communicator_.size();
    if (!writes_folder()) {
      return;
    }
    on_first_rank(communicator_, [&] {
      trace::prepare_run_folder(request_.folder, communicator_.size());
      trace::write_file_atomically(in_folder("config.resolved.yaml"), experiment_.resolved);
    });
  }

  void warn_of(const PlacedJob& placed) const {
    const std::string warning = placed.job->warning();
    if (!warning.empty()) {
      request_.hooks.on_warning((placed.name.empty() ? "" : placed.name + ": ") + warning);
    }
  }

  // Finds the checkpoint to go on from and makes the folder ready for another segment.
  void find_checkpoint() {
    pause_watch(true);
    base_ = checkpoints_.find(request_.hooks.on_warning);
    segments_ = base_->segments;
    if (writes_trace()) {
      const int ranks = segments_.back().cost.ranks;
      const std::uint32_t segment = segments_.back().number;
      losses_ = settle_traces(
          communicator_, request_,
          [&](int rank) {
            return trace_attributes(experiment_, *models_.work, rank, ranks, segment);
          },
          segments_);
      for (const std::string& loss : losses_) {
        if (communicator_.rank() == 0 && request_.hooks.on_warning) {
          request_.hooks.on_warning(loss);
        }
      }
    }
    trace::Segment next;
    next.number = segments_.back().number + 1;
    next.cost.ranks = communicator_.size();
    segments_.push_back(std::move(next));
    on_first_rank(communicator_, [&] { trace::prepare_to_go_on(request_.folder, segments_); });
    pause_watch(false);
  }

  // Takes the run up where the checkpoint left it.
  void go_on() {
    pause_watch(true);
    checkpoints_.restore(*base_, models_);
    checkpoints_.discard_newer(*base_);
    reported_events_ = 0;
    if (communicator_.rank() == 0 && request_.hooks.on_note) {
      request_.hooks.on_note("going on from checkpoint " + std::to_string(base_->number) + " at " +
                             to_string(SimTime::from_ps(base_->cut_ps)));
    }
    pause_watch(false);
  }

  void detail(const std::string& text) const {
    if (communicator_.rank() == 0 && request_.hooks.on_detail) {
      request_.hooks.on_detail(text);
    }
  }

  void tell_partition() const {
    const machine::Partition& partition = models_.partition;
    if (experiment_.options.partition == automatic_partition && partition.ranks > 1 &&
        communicator_.rank() == 0 && request_.hooks.on_note) {
      request_.hooks.on_note(models_.cut.reason);
    }
    detail("partition " + models_.cut.name + ", weights " + experiment_.options.weights + ": " +
           std::to_string(partition.ranks) + " regions, " + std::to_string(partition.cut_links) +
           " directed links cut, imbalance " + format_number(partition.imbalance));
    detail("lookahead " + to_string(experiment_.lookahead) + ", synchronization " +
           synchronization_of(experiment_) +
           (synchronization_of(experiment_) == experiment_.options.synchronization
                ? ""
                : ", as not all of its models promise anything"));
  }

  void pause_watch(bool pause) const {
    if (request_.hooks.on_checkpoint) {
      request_.hooks.on_checkpoint(pause);
    }
  }

  void open_trace() {
    if (!writes_trace()) {
      return;
    }
    const int rank = communicator_.rank();
    const std::uint32_t segment = segments_.back().number;
    detail("trace " + name_of(experiment_.options.trace) + " in " +
           in_folder(trace::trace_name(rank, communicator_.size(), segment)) + ", first bins of " +
           to_string(bin_length(experiment_)));
    models_.recorder.open(
        in_folder(trace::trace_name(rank, communicator_.size(), segment)),
        trace_attributes(experiment_, *models_.work, rank, communicator_.size(), segment));
    if (segment == 0) {  // a later one has them from the first
      models_.recorder.describe(models_.members, rank);
    }
    models_.engine.set_boundaries(bin_length(experiment_), 2 * experiment_.options.bins);
    models_.network->report_bins(
        [this](const network::LinkUse& use) { models_.recorder.on_link_bin(use); });
    models_.memory->report_bins(
        [this](const memory::ChannelUse& use) { models_.recorder.on_channel_bin(use); });
    models_.compute->report_bins(
        [this](const compute::CoreUse& use) { models_.recorder.on_core_bin(use); });
  }

  pdes::EngineHooks hooks() {
    pdes::EngineHooks hooks;
    hooks.stop_requested = request_.hooks.stop_requested;
    hooks.work_done = [this] {
      return static_cast<std::int64_t>(models_.executor->instructions_done());
    };
    hooks.on_round = [this](const pdes::RoundResult& round) {
      if (round.global) {  // else its sums say nothing
        on_round(round);
      }
    };
    if (writes_checkpoints()) {
      hooks.on_pause = [this](SimTime pause) { write_checkpoint(pause); };
    }
    if (request_.checkpoints.wall_s > 0 && communicator_.rank() == 0) {
      hooks.checkpoint_requested = [this] {
        return since(last_checkpoint_) >= request_.checkpoints.wall_s;
      };
    }
    if (!request_.checkpoints.simulated.is_never()) {
      models_.engine.set_pauses(request_.checkpoints.simulated);
    }
    return hooks;
  }

  void write_checkpoint(SimTime pause) {
    pause_watch(true);
    const auto start = WallClock::now();
    const trace::RowCounts rows = models_.recorder.secure(pause);
    segments_.back().cost = cost_so_far(models_, begin(), pause, since(began_));
    const Checkpoints::Written written = checkpoints_.write(pause, models_, segments_, rows);
    if (!written.failure.empty()) {
      const bool goes_on = request_.checkpoints.keep_going && !stopping_;
      if (!goes_on) {
        if (communicator_.rank() == written.failed_rank) {
          throw IoError(written.failure);
        }
        throw comm::Aborted(IoError(written.failure).exit_code());
      }
      if (communicator_.rank() == 0 && request_.hooks.on_warning) {
        request_.hooks.on_warning(written.failure + "; the run goes on without this checkpoint");
      }
    } else if (communicator_.rank() == 0 && request_.hooks.on_note) {
      request_.hooks.on_note("checkpoint " + std::to_string(written.number) + " at " +
                             to_string(pause) + ": " + to_short_string(Bytes(written.bytes)) +
                             " in " + format_number(since(start)) + " s");
    }
    detail("state of " + std::to_string(communicator_.size()) + " ranks at " + to_string(pause) +
           ": written below " + in_folder("checkpoints"));
    last_checkpoint_ = WallClock::now();
    pause_watch(false);
  }

  // Simulated time at which this segment began.
  SimTime begin() const { return SimTime::from_ps(base_ ? base_->cut_ps : 0); }

  void on_round(const pdes::RoundResult& round) {
    stopping_ = stopping_ || round.sums.stop_requests > 0;
    look_at_clock(static_cast<std::uint64_t>(round.sums.events));
    const double wall_s = seconds(reached_ - began_);
    if (base_ && !earlier_work_) {
      earlier_work_ = round.sums.work_done;
      reported_events_ = static_cast<std::uint64_t>(round.sums.events);
    }
    if (request_.hooks.on_round) {
      Progress brief;
      brief.simulated = models_.engine.last_event_time();
      brief.events = static_cast<std::uint64_t>(round.sums.events);
      brief.wall_s = wall_s;
      request_.hooks.on_round(brief);
    }
    if (seconds(reached_ - reported_) < request_.hooks.progress_period_s) {
      return;
    }
    const SimTime now = models_.engine.last_event_time();
    if (models_.recorder.writes()) {
      models_.recorder.on_engine(engine_row(models_, wall_s));
      models_.recorder.commit(now);
    }
    if (communicator_.rank() == 0 && request_.hooks.on_progress) {
      Progress progress;
      progress.simulated = now;
      progress.fraction =
          static_cast<double>(round.sums.work_done) / static_cast<double>(all_instructions());
      progress.events = static_cast<std::uint64_t>(round.sums.events);
      progress.events_per_s =
          static_cast<double>(progress.events - reported_events_) / since(reported_);
      progress.resident_bytes = resident_bytes();
      progress.wall_s = wall_s;
      const double here =  // done in this segment
          static_cast<double>(round.sums.work_done - earlier_work_.value_or(0)) /
          static_cast<double>(all_instructions());
      progress.left_s = here > 0.01 ? wall_s * (1 - progress.fraction) / here : -1;
      request_.hooks.on_progress(progress);
    }
    reported_ = WallClock::now();
    reported_events_ = static_cast<std::uint64_t>(round.sums.events);
  }

  // One rank may have millions of rounds of an event each, and the clock costs as much as an event:
  // it is then read after some.
  void look_at_clock(std::uint64_t events) {
    constexpr std::uint64_t some = 64;
    if (communicator_.size() == 1 && events - events_at_look_ < some) {
      return;
    }
    reached_ = WallClock::now();
    events_at_look_ = events;
  }

  std::uint64_t all_instructions() const {
    return std::max<std::uint64_t>(1, models_.work->instructions()) * models_.work->iterations();
  }

  // Gathers the results of all ranks into `summary` and ends the trace.
  void finish(trace::Summary& summary, bool complete, double wall_s) {
    const SimTime end = last_event(models_);
    segments_.back().cost = cost_so_far(models_, begin(), end, wall_s);
    gather_results(models_, segments_, end, complete, summary);
    models_.recorder.on_engine(engine_row(models_, wall_s));
    trace_sum_ = models_.recorder.close(end);
    gather_memory(communicator_, summary);
    gather_events(models_, summary);
    if (writes_folder()) {
      const std::vector<std::uint64_t> events = gather_node_events(models_);
      on_first_rank(communicator_, [&] {
        trace::write_file_atomically(in_folder(trace::node_events_name), to_text(events));
      });
    }
  }

  void write_summary(const trace::Summary& summary) const {
    trace::write_file_atomically(in_folder("summary.json"), trace::to_json(summary));
  }

  // The index comes before the summary that says that the run is over, and the manifest, which
  // holds sums of both, right behind it: whoever ends the run in between leaves a folder that says
  // "running", or one that can be read and gone on with.
  void finish_folder(const trace::Summary& summary) {
    if (!writes_folder()) {
      return;
    }
    detail("index, summary and manifest of " + request_.folder);
    const std::vector<trace::FileSum> sums = gather_sums(communicator_, trace_sum_);
    pause_watch(true);  // the others wait for rank 0
    on_first_rank(communicator_, [&] {
      if (writes_trace()) {
        trace::write_index(request_.folder, segments_);
      }
      write_summary(summary);
      if (writes_trace()) {
        trace::write_manifest(request_.folder, segments_, sums);
      } else {
        trace::write_manifest(request_.folder, 0);
      }
    });
    pause_watch(false);
  }

  const Experiment& experiment_;
  comm::Communicator& communicator_;
  const RunRequest& request_;
  RankModels models_;
  Checkpoints checkpoints_;
  std::optional<trace::Checkpoint> base_;  // from which the run goes on
  std::vector<trace::Segment> segments_;   // the last one is this
  trace::FileSum trace_sum_;               // of this rank's, once it is closed
  WallClock::time_point began_;
  WallClock::time_point reported_;
  WallClock::time_point reached_;  // when the clock was last read
  std::uint64_t events_at_look_ = 0;
  WallClock::time_point last_checkpoint_;
  std::uint64_t reported_events_ = 0;
  bool stopping_ = false;
  std::vector<std::string> losses_;           // of earlier traces
  std::optional<std::int64_t> earlier_work_;  // instructions of earlier segments
};

}  // namespace

void lock_folder(trace::FolderLock& lock, comm::Communicator& communicator,
                 const RunRequest& request) {
  if (!request.folder.empty() && !request.holds_lock) {
    const std::vector<std::string> ranks = communicator.gather(trace::own_process());
    on_first_rank(communicator, [&] { lock.take(request.folder, ranks); });
  }
}

void refuse_endless(const Experiment& experiment) {
  if (experiment.ideal_span().is_never()) {
    throw TimeTooLong(std::string("arithmetic alone takes longer than simulated time goes, ") +
                      range_of_time);
  }
  refuse_endless_accesses(experiment);
}

trace::Summary run(const Experiment& experiment, comm::Communicator& communicator,
                   const RunRequest& request) {
  trace::FolderLock lock;
  lock_folder(lock, communicator, request);
  try {
    return RankRun(experiment, communicator, request).run();
  } catch (const std::bad_alloc&) {  // while the models were made
    throw IoError(out_of_memory(
        request.cut ? forecast(experiment, request.cut->partition).largest_bytes : 0));
  }
}

}  // namespace tessera::sim
