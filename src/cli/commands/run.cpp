#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <string_view>

#include "options/cut_options.hpp"
#include "process/checkpoint_times.hpp"
#include "process/log.hpp"
#include "process/progress.hpp"
#include "process/signals.hpp"
#include "process/watchdog.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/comm/delayed.hpp"
#include "tessera/comm/first_rank.hpp"
#include "tessera/core/range_error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/programs/replay.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/sim/slow_rates.hpp"
#include "tessera/trace/checkpoint.hpp"
#include "tessera/trace/folder_lock.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::cli {
namespace {

std::string counted(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what;
}

int exit_code_of(const trace::Summary& summary) {
  if (summary.status == "finished") {
    return 0;
  }
  return summary.status == "stopped" ? stopped_exit_code : 3;
}

Options run_options() {
  Options options("run", "Simulate an experiment.", "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("o,output", "run folder (default: out/NAME)", text_value(), "DIR")
      .add("trace", "how much is traced: none, summary or full",
           one_of_value({"none", "summary", "full"}), "LEVEL")
      .add("checkpoint-every",
           "write a checkpoint whenever this much wall time (30s, 10min, 2h) or simulated time "
           "(sim:5ms) has passed; both may be given",
           texts_value(), "TIME")
      .add("resume", "continue the run in DIR from its newest checkpoint, on any number of ranks",
           text_value(), "DIR")
      .add("accept-loss",
           "with --resume: continue although rows of earlier traces are damaged; the lost ones "
           "are reported")
      .add("ignore-memory", "start although more memory is predicted than is available")
      .add("keep-going",
           "continue if a checkpoint cannot be written, instead of exiting with code 74")
      .add("json", "print the summary as one JSON object, the same as summary.json")
      .add("progress", "form of progress on stderr: text, or json: one object per line each second",
           one_of_value({"text", "json"}, "text"), "FORM")
      .add("watchdog", "seconds without progress after which the run is aborted; 0: never",
           text_value("300"), "S")
      .add("test-delays", "for tests: delay ranks at random, with this seed", text_value(), "SEED")
      .add("v,verbose", "print more (repeatable)")
      .add("q,quiet", "print less (repeatable)");
  add_cut_options(options);
  return options;
}

// Says which files are read.
config::TextLoader noting(config::TextLoader load, Log& log) {
  return [load = std::move(load), &log](const std::string& path) {
    std::string text = load(path);
    log.debug("read " + path + ": " + std::to_string(text.size()) + " bytes");
    return text;
  };
}

// The model chosen in a section of the machine.
std::string model_of(const config::Value& resolved, const std::string& section) {
  const config::Value* at = &resolved;
  for (const std::string& key : {std::string("machine"), section, std::string("model")}) {
    const config::Value::Member* member = at->find(key);
    ensure(member != nullptr, "a resolved configuration names its models");
    at = &member->value;
  }
  return at->text;
}

// What the experiment is made of.
void tell_parts(const sim::Experiment& experiment, Log& log) {
  if (!log.shows(LogLevel::debug)) {
    return;
  }
  config::Diagnostics none;
  const config::Value resolved = config::parse("resolved", experiment.resolved, none);
  const machine::Topology& topology = *experiment.machine.topology;
  log.debug("machine: " + counted(topology.nodes(), "nodes, ") +
            counted(topology.computing_nodes(), "compute, ") +
            counted(experiment.machine.channels.size(), "DRAM channels"));
  log.debug("models: network " + model_of(resolved, "network") + " routed " +
            experiment.network->routing() + ", memory " + model_of(resolved, "memory") +
            ", compute " + model_of(resolved, "compute"));
  for (const sim::PlacedJob& placed : experiment.jobs) {
    if (!placed.name.empty()) {
      log.debug("tenant " + placed.name + ": " + counted(placed.tiles.size(), "tiles, begins at ") +
                to_string(placed.start));
    }
    log.debug(placed.job->brief());
  }
}

// The experiment to run, and the folder it runs in.
sim::Experiment read_input(const Options& options, const config::TextLoader& load,
                           sim::RunRequest& request) {
  request.resume = options.has("resume");
  request.accept_loss = options.flag("accept-loss");
  request.ignore_memory = options.flag("ignore-memory");
  if (request.accept_loss && !request.resume) {
    throw ConfigError("--accept-loss goes with --resume alone: a new run has nothing to lose");
  }
  if (request.resume) {
    options.refuse_beside_resume("the run folder", {"set", "output", "trace"});
    request.folder = options.text("resume");
    return sim::read_run_folder(request.folder, load);
  }
  std::vector<std::string> settings = options.settings();
  if (options.has("trace")) {
    settings.push_back("run.trace=" + options.text("trace"));
  }
  sim::Experiment experiment = sim::read_experiment(options.subject(), settings, load);
  request.folder = options.has("output") ? options.text("output") : "out/" + experiment.name;
  return experiment;
}

void print_summary(const trace::Summary& summary, const Options& options) {
  std::cout << (options.flag("json") ? trace::to_json(summary) : trace::to_table(summary));
}

void print_place(const std::string& folder, const Options& options) {
  if (!options.flag("json")) {
    std::cout << "results in " << folder << "\n";
  }
  std::cout << std::flush;
}

// None: without a summary, or of a run that did not finish, checkpoints say how far it came.
std::optional<trace::Summary> finished_summary(const std::string& folder) {
  try {
    trace::Summary summary = trace::read_summary(folder + "/summary.json");
    return summary.status == "finished" ? std::optional(std::move(summary)) : std::nullopt;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

// What is wrong with the folder of a run that has finished. Index and manifest are written again
// where they alone are: whoever ended the run may have left no more to do.
std::vector<std::string> settle_folder(const std::string& folder, const trace::Summary& summary,
                                       bool traced, Log& log) {
  if (trace::verify_run_folder(folder).empty()) {
    return {};
  }
  trace::FolderLock lock;
  lock.take(folder);  // the run may be about to write them
  const int ranks = summary.segments.empty() ? summary.ranks : summary.segments.back().ranks;
  std::vector<std::string> faults = trace::settle_run_folder(folder, traced ? ranks : 0);
  if (faults.empty()) {
    log.info("index and manifest of the run were not as it wrote them, and are written again");
  }
  return faults;
}

// The summary of a run that has nothing left to do. The same answer on every rank.
bool show_if_finished(const std::string& folder, const Options& options, bool traced,
                      comm::Communicator& world, Log& log) {
  bool finished = false;
  comm::on_first_rank(world, [&] {
    const std::optional<trace::Summary> summary = finished_summary(folder);
    if (!summary) {
      return;
    }
    const std::vector<std::string> faults = settle_folder(folder, *summary, traced, log);
    if (faults.empty()) {
      finished = true;
      log.info("the run in " + folder + " has finished; there is nothing to go on with");
      print_summary(*summary, options);
      print_place(folder, options);
    } else if (trace::list_checkpoints(folder).empty()) {
      throw IoError(folder + ": error: the run has finished, but not all it wrote is there, and " +
                    "no checkpoint to go on from: " + join(faults, "; "));
    } else {
      log.warn("not all that the run wrote is there (" + join(faults, "; ") +
               "); it goes on from a checkpoint");
    }
  });
  return world.broadcast(finished ? "yes" : "no", 0) == "yes";
}

// Where more ranks did not help, says so.
void advise(const trace::Summary& summary, Log& log) {
  constexpr double long_enough_s = 1;
  if (summary.ranks < 2 || summary.rounds == 0 || summary.wall_s < long_enough_s ||
      summary.waiting_s < summary.wall_s / 2) {
    return;
  }
  const double share = 100 * summary.waiting_s / summary.wall_s;
  const std::uint64_t events = summary.events / summary.rounds;
  log.info("ranks waited " + std::to_string(static_cast<int>(share)) + " % of the time, with " +
           counted(events, "events in a round of all of them") +
           ": fewer may be faster; tessera scale predicts how many");
}

// The configuration as given; read by one rank alone.
config::Value configuration_of(const Options& options) {
  return options.has("resume")
             ? sim::read_configuration(options.text("resume") + "/config.resolved.yaml", {},
                                       config::load_text_file)
             : sim::read_configuration(options.subject(), options.settings(),
                                       config::load_text_file);
}

trace::Summary simulate(sim::Experiment& experiment, comm::Communicator& world,
                        const sim::RunRequest& request, const Options& options) {
  try {
    sim::refuse_endless(experiment);
  } catch (const TimeTooLong& error) {  // on all ranks
    throw ConfigError(sim::slow_rate(error, configuration_of(options)));
  }
  try {
    return sim::run_with_replay(experiment, world, request);
  } catch (const DurationTooLong& error) {
    throw sim::RateTooLow(sim::slow_rate(error, configuration_of(options)));
  } catch (const TimeTooLong& error) {
    constexpr std::string_view kind = "error: ";
    std::string what = error.what();
    what.erase(0, what.starts_with(kind) ? kind.size() : 0);
    throw ModelError(what + sim::slowest_rate(configuration_of(options)));
  }
}

int run_command(const Words& words, comm::Communicator& world) {
  Options options = run_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  Log log(options.times("verbose") - options.times("quiet"), world.rank() == 0);
  constexpr std::int64_t most_seconds = std::numeric_limits<std::int32_t>::max();
  const std::chrono::seconds patience(options.number("watchdog", 0, most_seconds));
  sim::RunRequest request;
  request.checkpoints.keep_going = options.flag("keep-going");
  read_checkpoint_times(options.texts("checkpoint-every"), request.checkpoints);
  sim::Experiment experiment = read_input(options, noting(shared_loader(world), log), request);
  apply_cut_options(options, experiment, world);
  const bool traced = experiment.options.trace != sim::TraceLevel::none;
  if (request.resume && show_if_finished(request.folder, options, traced, world, log)) {
    return 0;
  }
  log.info(experiment.name + ": " + counted(sim::tiles_at_work(experiment), "tiles of ") +
           experiment.machine.name + " run " + experiment.workload + " on " + world.description());
  tell_parts(experiment, log);
  SignalWatch signals;
  Watchdog watchdog(patience, [&](const Watchdog::Sign& last) {
    std::cerr << "rank " + std::to_string(world.rank()) + ": error: no progress for " +
                     std::to_string(patience.count()) + " s; simulated time " +
                     to_string(last.simulated) + ", " + std::to_string(last.events) +
                     " events; giving up\n"
              << std::flush;
    if (world.size() > 1) {
      world.abort(70);
    }
    std::_Exit(70);
  });
  const bool as_json = options.text("progress") == "json";
  request.hooks.progress_period_s = as_json ? 1 : static_cast<double>(progress_period().count());
  request.hooks.stop_requested = [&] { return signals.stop_requested(); };
  request.hooks.on_progress = [&](const sim::Progress& progress) {
    if (as_json) {
      std::cerr << progress_json(progress) + "\n" << std::flush;
    } else {
      log.info(progress_line(progress));
    }
  };
  request.hooks.on_round = [&](const sim::Progress& progress) {
    watchdog.feed({progress.simulated, progress.events});
    if (signals.take_status_request()) {
      std::cerr << "rank " + std::to_string(world.rank()) + ": simulated " +
                       to_string(progress.simulated) + ", " + std::to_string(progress.events) +
                       " events, " + rounded(progress.wall_s) + "s\n"
                << std::flush;
    }
  };
  request.hooks.on_checkpoint = [&](bool begins) {
    watchdog.pause(begins);
    log.trace(std::string("work on a checkpoint ") + (begins ? "begins" : "ends"));
  };
  request.hooks.on_note = [&](const std::string& text) { log.info(text); };
  request.hooks.on_detail = [&](const std::string& text) { log.debug(text); };
  request.hooks.on_warning = [&](const std::string& text) { log.warn(text); };
  std::unique_ptr<comm::Communicator> delayed;
  if (options.has("test-delays")) {
    constexpr std::chrono::microseconds longest{500};
    const std::int64_t seed =
        options.number("test-delays", 0, std::numeric_limits<std::int64_t>::max());
    delayed = comm::make_delayed(world, static_cast<std::uint64_t>(seed), longest);
  }
  const trace::Summary summary = simulate(experiment, delayed ? *delayed : world, request, options);
  if (world.rank() == 0) {
    if (summary.status != "finished") {
      std::cerr << "error: " << summary.message << std::endl;
    }
    print_summary(summary, options);
    print_place(request.folder, options);
    advise(summary, log);
  }
  return exit_code_of(summary);
}

const Registration run_registration(commands(), {"run", "simulate an experiment", {}},
                                    Command{"run EXPERIMENT.yaml [options]", run_command});

}  // namespace
}  // namespace tessera::cli
