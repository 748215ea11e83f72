#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <cxxopts.hpp>
#include <iostream>
#include <optional>

#include "checkpoint_times.hpp"
#include "commands.hpp"
#include "cut_options.hpp"
#include "signals.hpp"
#include "tessera/comm/delayed.hpp"
#include "tessera/core/text.hpp"
#include "tessera/sim/replay.hpp"
#include "tessera/sim/simulation.hpp"
#include "tessera/trace/summary.hpp"
#include "watchdog.hpp"

namespace tessera::cli {
namespace {

std::shared_ptr<spdlog::logger> make_logger(const cxxopts::ParseResult& options, int rank) {
  auto logger = spdlog::stderr_color_st("tessera");
  logger->set_pattern("%^%l%$: %v");
  const auto verbose = static_cast<int>(options.count("verbose"));
  const auto quiet = static_cast<int>(options.count("quiet"));
  // info: what is done; quieter: warnings, errors; louder: debug, trace.
  const int level =
      std::clamp(SPDLOG_LEVEL_INFO - verbose + quiet, SPDLOG_LEVEL_TRACE, SPDLOG_LEVEL_OFF);
  logger->set_level(rank == 0 ? static_cast<spdlog::level::level_enum>(level) : spdlog::level::off);
  return logger;
}

// "12.3 M": three digits are enough for a progress line.
std::string rounded(double value) {
  constexpr const char* prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); ++prefix) {
    value /= 1000;
  }
  const std::string digits = std::to_string(value);
  return digits.substr(0, value >= 100 ? 3 : 4) + prefixes[prefix];
}

std::string progress_line(const sim::Progress& progress) {
  std::string text = "simulated " + to_string(progress.simulated) + ", " +
                     std::to_string(static_cast<int>(progress.fraction * 100)) + " % done, " +
                     rounded(progress.events_per_s) + " events/s, " +
                     rounded(static_cast<double>(progress.resident_bytes)) + "B";
  if (progress.left_s >= 0) {
    text += ", " + std::to_string(static_cast<long>(progress.left_s)) + " s left";
  }
  return text;
}

int exit_code_of(const trace::Summary& summary) {
  if (summary.status == "finished") {
    return 0;
  }
  return summary.status == "stopped" ? 75 : 3;
}

cxxopts::Options describe() {
  cxxopts::Options options("tessera run", "Simulate an experiment.");
  options.positional_help("EXPERIMENT.yaml");
  options.add_options()("experiment", "the experiment file", cxxopts::value<std::string>())(
      "set", "set a key: key.path=value (repeatable)", cxxopts::value<std::vector<std::string>>(),
      "KEY=VALUE")("o,output", "run folder (default: out/NAME)", cxxopts::value<std::string>(),
                   "DIR")("trace", "none, summary or full", cxxopts::value<std::string>(), "LEVEL")(
      "checkpoint-every",
      "write a checkpoint each time so much wall time (30s, 10min, 2h) or simulated time "
      "(sim:5ms) has passed; both may be given",
      cxxopts::value<std::vector<std::string>>(), "TIME")(
      "resume", "go on with the run in DIR from its newest checkpoint, on any number of ranks",
      cxxopts::value<std::string>(),
      "DIR")("keep-going", "go on when a checkpoint cannot be written, instead of ending with 74")(
      "watchdog", "seconds without progress after which a run is given up; 0: never",
      cxxopts::value<unsigned>()->default_value("300"),
      "S")("test-delays", "for tests: make ranks late at random, by this seed",
           cxxopts::value<std::uint64_t>(), "SEED")("v,verbose", "say more (repeatable)")(
      "q,quiet", "say less (repeatable)")("h,help", "this text");
  add_cut_options(options);
  options.parse_positional({"experiment"});
  return options;
}

// The experiment to run, and the folder it runs in.
sim::Experiment read_input(const cxxopts::ParseResult& options, comm::Communicator& world,
                           sim::RunRequest& request) {
  request.resume = options.count("resume") > 0;
  if (request.resume) {
    for (const char* other : {"experiment", "set", "output", "trace"}) {
      if (options.count(other) > 0) {
        throw ConfigError(
            std::string("--resume goes on with what the run folder holds; it does "
                        "not go together with ") +
            (other == std::string("experiment") ? "an experiment" : "--" + std::string(other)));
      }
    }
    request.folder = options["resume"].as<std::string>();
    return sim::read_run_folder(request.folder, shared_loader(world));
  }
  if (options.count("experiment") == 0) {
    throw ConfigError("no experiment given; see tessera run --help");
  }
  std::vector<std::string> overrides;
  if (options.count("set") > 0) {
    overrides = options["set"].as<std::vector<std::string>>();
  }
  if (options.count("trace") > 0) {
    overrides.push_back("run.trace=" + options["trace"].as<std::string>());
  }
  sim::Experiment experiment = sim::read_experiment(options["experiment"].as<std::string>(),
                                                    overrides, shared_loader(world));
  request.folder =
      options.count("output") > 0 ? options["output"].as<std::string>() : "out/" + experiment.name;
  return experiment;
}

// The summary of a run that has nothing left to do. The same answer on every rank.
bool show_if_finished(const std::string& folder, comm::Communicator& world,
                      spdlog::logger& logger) {
  bool finished = false;
  if (world.rank() == 0) {
    try {
      const trace::Summary summary = trace::read_summary(folder + "/summary.json");
      finished = summary.status == "finished";
      if (finished) {
        logger.info("the run in {} has finished; there is nothing to go on with", folder);
        std::cout << trace::to_table(summary) << "results in " << folder << std::endl;
      }
    } catch (const IoError&) {
      // Without a summary the checkpoints say how far the run came.
    }
  }
  return world.broadcast(finished ? "yes" : "no", 0) == "yes";
}

// Where more ranks did not help, says so.
void advise(const trace::Summary& summary, spdlog::logger& logger) {
  constexpr double long_enough_s = 1;
  if (summary.ranks < 2 || summary.rounds == 0 || summary.wall_s < long_enough_s ||
      summary.waiting_s < summary.wall_s / 2) {
    return;
  }
  logger.info(
      "ranks waited {:.0f} % of the time, with {:.2g} events in a round of all of them: fewer may "
      "be faster; tessera scale predicts how many",
      100 * summary.waiting_s / summary.wall_s,
      static_cast<double>(summary.events) / static_cast<double>(summary.rounds));
}

}  // namespace

int run_command(const Words& words, comm::Communicator& world) {
  cxxopts::Options description = describe();
  Arguments arguments("tessera run", words);
  const cxxopts::ParseResult options = description.parse(arguments.count(), arguments.values());
  if (options.count("help") > 0) {
    std::cout << (world.rank() == 0 ? description.help() : "");
    return 0;
  }
  const auto logger = make_logger(options, world.rank());
  sim::RunRequest request;
  request.checkpoints.keep_going = options.count("keep-going") > 0;
  if (options.count("checkpoint-every") > 0) {
    read_checkpoint_times(options["checkpoint-every"].as<std::vector<std::string>>(),
                          request.checkpoints);
  }
  sim::Experiment experiment = read_input(options, world, request);
  apply_cut_options(options, experiment, world);
  if (request.resume && show_if_finished(request.folder, world, *logger)) {
    return 0;
  }
  logger->info("{}: {} tiles of {} run {} on {}", experiment.name,
               experiment.plan.strategy.degrees.tiles(), experiment.machine.name,
               experiment.workload.name, world.description());
  SignalWatch signals;
  Watchdog watchdog(
      std::chrono::seconds(options["watchdog"].as<unsigned>()), [&](const Watchdog::Sign& last) {
        std::cerr << "rank " + std::to_string(world.rank()) + ": error: no progress for " +
                         std::to_string(options["watchdog"].as<unsigned>()) +
                         " s; simulated time " + to_string(last.simulated) + ", " +
                         std::to_string(last.events) + " events; giving up\n"
                  << std::flush;
        if (world.size() > 1) {
          world.abort(70);
        }
        std::_Exit(70);
      });
  request.hooks.progress_period_s = static_cast<double>(progress_period().count());
  request.hooks.stop_requested = [&] { return signals.stop_requested(); };
  request.hooks.on_progress = [&](const sim::Progress& progress) {
    logger->info("{}", progress_line(progress));
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
  request.hooks.on_checkpoint = [&](bool begins) { watchdog.pause(begins); };
  request.hooks.on_note = [&](const std::string& text) { logger->info("{}", text); };
  request.hooks.on_warning = [&](const std::string& text) { logger->warn("{}", text); };
  std::unique_ptr<comm::Communicator> delayed;
  if (options.count("test-delays") > 0) {
    constexpr std::chrono::microseconds longest{500};
    delayed = comm::make_delayed(world, options["test-delays"].as<std::uint64_t>(), longest);
  }
  const trace::Summary summary =
      sim::run_with_replay(experiment, delayed ? *delayed : world, request);
  if (world.rank() == 0) {
    if (summary.status != "finished") {
      std::cerr << "error: " << summary.message << std::endl;
    }
    std::cout << trace::to_table(summary);
    if (summary.status != "stopped" || !experiment.options.replay) {
      std::cout << "results in " << request.folder << std::endl;
    }
    advise(summary, *logger);
  }
  return exit_code_of(summary);
}

}  // namespace tessera::cli
