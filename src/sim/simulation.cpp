#include "tessera/sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "recorder.hpp"
#include "tessera/core/version.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/executor.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::sim {
namespace {

using WallClock = std::chrono::steady_clock;

// The components' numbers at the engine.
enum Slot : unsigned { network_slot, memory_slot, compute_slot, executor_slot };

constexpr std::size_t waiting_lines = 8;  // of a deadlock report

std::string name_of(TraceLevel level) {
  switch (level) {
    case TraceLevel::none:
      return "none";
    case TraceLevel::summary:
      return "summary";
    case TraceLevel::full:
      return "full";
  }
  throw InternalError("a trace level outside its list");
}

template <class Enum>
std::string names_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(to_string(static_cast<Enum>(i)));
  }
  return join(names, ",");
}

// How ranks keep in step. Where some model sends from anywhere to anywhere, all are neighbours.
std::unique_ptr<pdes::SyncPolicy> make_policy(const Experiment& experiment,
                                              comm::Communicator& communicator,
                                              const machine::Partition& partition) {
  const machine::Topology& topology = *experiment.machine.topology;
  const bool along_links =
      experiment.network->sends_along_links() && experiment.memory->sends_along_links();
  pdes::RegionDelays delays;
  delays.closed = machine::region_delays(topology, partition);
  delays.direct = along_links ? machine::direct_delays(topology, partition) : delays.closed;
  return pdes::sync_policies().at(experiment.options.synchronization)(communicator,
                                                                      std::move(delays));
}

SimTime bin_length(const Experiment& experiment) {
  if (experiment.options.bin) {
    return *experiment.options.bin;
  }
  const std::int64_t expected = experiment.ideal_time.ps() * experiment.options.iterations;
  return SimTime::from_ps(std::max<std::int64_t>(1, expected / experiment.options.bins));
}

// Sums over all ranks of numbers that may exceed 64 bits together.
std::vector<Wide> sums_over_ranks(comm::Communicator& communicator,
                                  const std::vector<Wide>& values) {
  constexpr std::uint64_t low = 0xFFFFFFFFULL;
  std::vector<std::uint64_t> limbs;
  for (const Wide value : values) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      limbs.push_back(static_cast<std::uint64_t>(value >> (32 * limb)) & low);
    }
  }
  communicator.reduce_sum(limbs);
  std::vector<Wide> sums(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (unsigned limb = 0; limb < 4; ++limb) {
      sums[i] += static_cast<Wide>(limbs[i * 4 + limb]) << (32 * limb);
    }
  }
  return sums;
}

// One rank's share of a run.
class RankRun {
 public:
  RankRun(const Experiment& experiment, comm::Communicator& communicator, const RunRequest& request)
      : experiment_(experiment),
        communicator_(communicator),
        request_(request),
        partition_(machine::partitioners().at(experiment.options.partition)(
            *experiment.machine.topology, communicator.size(), {})),
        members_(partition_.members[static_cast<std::size_t>(communicator.rank())]),
        engine_(communicator,
                {partition_.owner, members_,
                 machine::region_delays(*experiment.machine.topology, partition_)},
                experiment.lookahead, make_policy(experiment, communicator, partition_)),
        network_(experiment.network->build({experiment.machine, members_, network_slot})),
        memory_(
            experiment.memory->build({experiment.machine, members_, memory_slot, network_slot})),
        compute_(experiment.compute->build({experiment.machine, members_, compute_slot})),
        recorder_(experiment),
        executor_(executor::make_executor({experiment.machine, experiment.plan, members_,
                                           experiment.options.iterations, executor_slot,
                                           network_slot, memory_slot, compute_slot, &recorder_})),
        began_(WallClock::now()) {
    ensure(engine_.attach(*network_) == network_slot && engine_.attach(*memory_) == memory_slot &&
               engine_.attach(*compute_) == compute_slot &&
               engine_.attach(*executor_) == executor_slot,
           "components have the slots they were told");
  }

  trace::Summary run() {
    prepare_folder();
    trace::Summary summary = described();
    write_summary(summary, "running", "");
    open_trace();
    began_ = WallClock::now();
    reported_ = began_;
    bool complete = false;
    std::string stuck;
    try {
      complete = engine_.run(hooks());
      wall_s_ = since(began_);
      stuck = complete ? deadlock_report() : "";
      finish(summary, complete && stuck.empty());
    } catch (const std::exception& error) {
      if (communicator_.rank() == 0) {
        write_summary(summary, "failed", error.what());
      }
      throw;
    }
    if (!complete) {
      write_summary(summary, "stopped", "a stop was requested");
    } else if (!stuck.empty()) {
      write_summary(summary, "deadlock", stuck);
    } else {
      write_summary(summary, "finished", "");
    }
    finish_folder();
    return summary;
  }

 private:
  static double since(WallClock::time_point start) {
    return std::chrono::duration<double>(WallClock::now() - start).count();
  }

  bool writes_folder() const { return !request_.folder.empty(); }
  bool writes_trace() const {
    return writes_folder() && experiment_.options.trace != TraceLevel::none;
  }
  std::string in_folder(const std::string& name) const {
    return (std::filesystem::path(request_.folder) / name).string();
  }

  // Rank 0 does something to the folder; a failure there is one on all ranks.
  template <class Work>
  void on_first_rank(Work work) {
    std::string failed;
    std::exception_ptr error;
    int code = 0;
    if (communicator_.rank() == 0) {
      try {
        work();
      } catch (const Error& caught) {
        error = std::current_exception();
        code = caught.exit_code();
      }
    }
    code = std::stoi(communicator_.broadcast(std::to_string(code), 0));
    if (error) {
      std::rethrow_exception(error);
    }
    if (code != 0) {
      throw comm::Aborted(code);
    }
  }

  void prepare_folder() {
    if (!writes_folder()) {
      return;
    }
    on_first_rank([&] {
      trace::prepare_run_folder(request_.folder, communicator_.size());
      trace::write_file_atomically(in_folder("config.resolved.yaml"), experiment_.resolved);
    });
  }

  void open_trace() {
    if (!writes_trace()) {
      return;
    }
    const int rank = communicator_.rank();
    recorder_.open(in_folder(trace::trace_name(rank, communicator_.size())),
                   {{"program", "tessera " + std::string(version())},
                    {"git_hash", std::string(git_hash())},
                    {"rank", std::to_string(rank)},
                    {"ranks", std::to_string(communicator_.size())},
                    {"experiment", experiment_.name},
                    {"configuration_hash", experiment_.configuration_hash()},
                    {"trace_level", name_of(experiment_.options.trace)},
                    {"phases", names_of<plan::Phase>(plan::phases)},
                    {"activities", names_of<executor::Activity>(executor::activities)},
                    {"traffic", names_of<plan::Traffic>(plan::traffic_kinds)}},
                   members_, rank);
    engine_.set_boundaries(bin_length(experiment_), 2 * experiment_.options.bins);
    network_->report_bins([this](const network::LinkUse& use) { recorder_.on_link_bin(use); });
    memory_->report_bins([this](const memory::ChannelUse& use) { recorder_.on_channel_bin(use); });
  }

  pdes::EngineHooks hooks() {
    pdes::EngineHooks hooks;
    hooks.stop_requested = request_.hooks.stop_requested;
    hooks.work_done = [this] { return static_cast<std::int64_t>(executor_->instructions_done()); };
    hooks.on_round = [this](const pdes::RoundResult& round) {
      if (round.global) {
        on_round(round);
      }
    };
    return hooks;
  }

  void on_round(const pdes::RoundResult& round) {
    const double wall_s = since(began_);
    if (request_.hooks.on_round) {
      Progress brief;
      brief.simulated = engine_.last_event_time();
      brief.events = static_cast<std::uint64_t>(round.sums.events);
      brief.wall_s = wall_s;
      request_.hooks.on_round(brief);
    }
    if (since(reported_) < request_.hooks.progress_period_s) {
      return;
    }
    const SimTime now = engine_.last_event_time();
    if (recorder_.writes()) {
      recorder_.on_engine(engine_row(wall_s));
      recorder_.commit(now);
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
      progress.left_s =
          progress.fraction > 0.01 ? wall_s * (1 - progress.fraction) / progress.fraction : -1;
      request_.hooks.on_progress(progress);
    }
    reported_ = WallClock::now();
    reported_events_ = static_cast<std::uint64_t>(round.sums.events);
  }

  std::uint64_t all_instructions() const {
    return std::max<std::uint64_t>(1, experiment_.plan.instructions()) *
           experiment_.options.iterations;
  }

  trace::EngineRow engine_row(double wall_s) const {
    const pdes::EngineStatistics statistics = engine_.statistics();
    trace::EngineRow row;
    row.simulated_ps = engine_.last_event_time().ps();
    row.wall_s = wall_s;
    row.waiting_s = statistics.waiting_s;
    row.events = statistics.events;
    row.windows = statistics.windows;
    row.rounds = statistics.rounds;
    row.remote_events = statistics.remote_events;
    row.batches = statistics.batches;
    row.pending = statistics.largest_pending;
    row.resident_bytes = resident_bytes();
    return row;
  }

  // What is known before the run.
  trace::Summary described() const {
    trace::Summary summary;
    summary.experiment = experiment_.name;
    summary.machine = experiment_.machine.name;
    summary.workload = experiment_.workload.name;
    summary.ideal_time_ps = experiment_.ideal_time.ps();
    summary.iterations = experiment_.options.iterations;
    summary.tiles = experiment_.plan.strategy.degrees.tiles();
    summary.peak_flops_per_s =
        static_cast<double>(summary.tiles) *
        static_cast<double>(
            experiment_.machine.tile.peak.at(experiment_.workload.data_type).flops_per_second());
    summary.ranks = communicator_.size();
    summary.communicator = communicator_.description();
    summary.partition = experiment_.options.partition;
    summary.synchronization = experiment_.options.synchronization;
    summary.trace = name_of(experiment_.options.trace);
    summary.version = version();
    summary.git_hash = git_hash();
    summary.mpi = comm::mpi_version();
    summary.hdf5 = trace::hdf5_version();
    summary.predicted_bytes = forecast(experiment_, communicator_.size()).largest_bytes;
    return summary;
  }

  // Gathers the results of all ranks into `summary` and ends the trace. A run that did not come to
  // its end has no time of an iteration.
  void finish(trace::Summary& summary, bool complete) {
    std::array<std::uint64_t, 3> largest{static_cast<std::uint64_t>(engine_.last_event_time().ps()),
                                         engine_.statistics().windows, engine_.statistics().rounds};
    communicator_.reduce_max(largest);
    const SimTime end = SimTime::from_ps(static_cast<std::int64_t>(largest[0]));
    summary.windows = largest[1];
    summary.rounds = largest[2];
    record_totals(end);
    fill_breakdown(summary, end);
    fill_costs(summary);

    summary.simulated_time_ps = end.ps();
    const std::int64_t iterations = summary.iterations;
    if (complete && end > SimTime::zero()) {
      summary.iteration_time_ps = (end.ps() + iterations - 1) / iterations;
      const workload::Workload& workload = experiment_.workload;
      summary.throughput_samples_per_s =
          static_cast<double>(workload.samples) * static_cast<double>(iterations) / end.seconds();
      summary.achieved_flops_per_s = summary.throughput_samples_per_s *
                                     static_cast<double>(workload.flops_per_sample().count());
    }
    recorder_.on_engine(engine_row(wall_s_));
    recorder_.close(end);
    fill_memory(summary);
  }

  void record_totals(SimTime end) {
    engine_.finish_boundaries(end);
    if (recorder_.writes()) {
      network_->pass_boundary(end);  // the last bin, cut short
      memory_->pass_boundary(end);
    }
    network_->visit_links(end,
                          [this](const network::LinkUse& use) { recorder_.on_link_total(use); });
    memory_->visit_channels(
        end, [this](const memory::ChannelUse& use) { recorder_.on_channel_total(use); });
  }

  void fill_breakdown(trace::Summary& summary, SimTime end) {
    const std::size_t stages = experiment_.plan.stages.size();
    std::vector<Wide> times(stages * executor::activities);
    executor_->visit_results([&](const executor::TileResult& result) {
      recorder_.on_tile(result);
      const std::size_t stage = experiment_.plan.placement.role(result.role).stage;
      SimTime known;
      for (std::size_t i = 0; i < executor::activities; ++i) {
        times[stage * executor::activities + i] += static_cast<std::uint64_t>(result.time[i].ps());
        known += result.time[i];
      }
      times[stage * executor::activities + static_cast<std::size_t>(executor::Activity::bubble)] +=
          static_cast<std::uint64_t>((end - known).ps());
    });
    times = sums_over_ranks(communicator_, times);
    const std::uint64_t tiles = summary.tiles / stages;
    const auto breakdown = [&](std::string name, std::uint64_t of, auto sum) {
      trace::Breakdown row{std::move(name), of, {}};
      for (std::size_t i = 0; i < executor::activities; ++i) {
        row.mean_ps.emplace_back(to_string(static_cast<executor::Activity>(i)),
                                 static_cast<std::uint64_t>(sum(i) / of));
      }
      return row;
    };
    summary.breakdown.push_back(breakdown("total", summary.tiles, [&](std::size_t i) {
      Wide sum = 0;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        sum += times[stage * executor::activities + i];
      }
      return sum;
    }));
    for (std::size_t stage = 0; stage < stages; ++stage) {
      summary.breakdown.push_back(
          breakdown("stage " + std::to_string(stage), tiles,
                    [&](std::size_t i) { return times[stage * executor::activities + i]; }));
    }
  }

  void fill_costs(trace::Summary& summary) {
    const pdes::EngineStatistics statistics = engine_.statistics();
    constexpr double microseconds = 1e6;
    std::array<std::uint64_t, 6> sums{
        statistics.events,
        network_->packet_hops(),
        network_->messages(),
        statistics.remote_events,
        static_cast<std::uint64_t>(statistics.waiting_s * microseconds),
        static_cast<std::uint64_t>(static_cast<double>(std::clock()) / CLOCKS_PER_SEC *
                                   microseconds)};
    communicator_.reduce_sum(sums);
    summary.events = sums[0];
    summary.packet_hops = sums[1];
    summary.messages = sums[2];
    summary.remote_events = sums[3];
    summary.waiting_s = static_cast<double>(sums[4]) / microseconds / communicator_.size();
    summary.cpu_s = static_cast<double>(sums[5]) / microseconds;
    summary.wall_s = wall_s_;
    summary.events_per_s = static_cast<double>(summary.events) / std::max(wall_s_, 1e-9);

    const Digest& digest = recorder_.digest();
    const auto whole = static_cast<Wide>(digest.high()) << 64 | digest.low();
    const Wide sum = sums_over_ranks(communicator_, {whole}).front();
    Digest result(static_cast<std::uint64_t>(sum >> 64), static_cast<std::uint64_t>(sum));
    summary.result_digest = result.to_string();
  }

  void fill_memory(trace::Summary& summary) {
    std::vector<std::uint64_t> peaks(static_cast<std::size_t>(communicator_.size()));
    peaks[static_cast<std::size_t>(communicator_.rank())] = peak_resident_bytes();
    communicator_.reduce_sum(peaks);
    summary.peak_rss_bytes = peaks;
  }

  // Empty when every tile finished; else who waits for what. The same text on every rank.
  std::string deadlock_report() {
    std::array<std::uint64_t, 1> unfinished{executor_->unfinished()};
    communicator_.reduce_sum(unfinished);
    if (unfinished[0] == 0) {
      return "";
    }
    const std::vector<std::string> parts =
        communicator_.gather(join(executor_->waiting(waiting_lines), "\n"));
    std::string text;
    std::size_t lines = 0;
    for (const std::string& part : parts) {
      for (std::size_t at = 0; at < part.size() && lines < waiting_lines; ++lines) {
        const std::size_t end = std::min(part.find('\n', at), part.size());
        text += "\n  " + part.substr(at, end - at);
        at = end + 1;
      }
    }
    const std::string head = "deadlock: nothing is left to happen and " +
                             std::to_string(unfinished[0]) + " tiles have not finished" +
                             (unfinished[0] > lines ? "; the first of them:" : ":");
    return communicator_.broadcast(head + text, 0);
  }

  void write_summary(trace::Summary& summary, const std::string& status,
                     const std::string& message) {
    summary.status = status;
    summary.message = message;
    if (writes_folder() && communicator_.rank() == 0) {
      trace::write_file_atomically(in_folder("summary.json"), trace::to_json(summary));
    }
  }

  void finish_folder() {
    if (!writes_folder()) {
      return;
    }
    communicator_.barrier();  // all traces are closed
    on_first_rank([&] {
      if (writes_trace()) {
        trace::write_index(request_.folder, communicator_.size());
      }
      trace::write_manifest(request_.folder, writes_trace() ? communicator_.size() : 0);
    });
  }

  const Experiment& experiment_;
  comm::Communicator& communicator_;
  const RunRequest& request_;
  machine::Partition partition_;
  const std::vector<EntityId>& members_;
  pdes::Engine engine_;
  std::unique_ptr<network::Network> network_;
  std::unique_ptr<memory::Memory> memory_;
  std::unique_ptr<pdes::Component> compute_;
  Recorder recorder_;
  std::unique_ptr<executor::Executor> executor_;
  WallClock::time_point began_;
  WallClock::time_point reported_;
  std::uint64_t reported_events_ = 0;
  double wall_s_ = 0;
};

}  // namespace

trace::Summary run(const Experiment& experiment, comm::Communicator& communicator,
                   const RunRequest& request) {
  return RankRun(experiment, communicator, request).run();
}

}  // namespace tessera::sim
