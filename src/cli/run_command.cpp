#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cxxopts.hpp>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "signals.hpp"
#include "tessera/core/text.hpp"
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
      "watchdog", "seconds without progress after which a run is given up; 0: never",
      cxxopts::value<unsigned>()->default_value("300"), "S")("v,verbose", "say more (repeatable)")(
      "q,quiet", "say less (repeatable)")("h,help", "this text");
  options.parse_positional({"experiment"});
  return options;
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
  if (options.count("experiment") == 0) {
    throw ConfigError("no experiment given; see tessera run --help");
  }
  const auto logger = make_logger(options, world.rank());
  std::vector<std::string> overrides;
  if (options.count("set") > 0) {
    overrides = options["set"].as<std::vector<std::string>>();
  }
  if (options.count("trace") > 0) {
    overrides.push_back("run.trace=" + options["trace"].as<std::string>());
  }
  const auto path = options["experiment"].as<std::string>();
  const sim::Experiment experiment = sim::read_experiment(path, overrides, shared_loader(world));

  sim::RunRequest request;
  request.folder =
      options.count("output") > 0 ? options["output"].as<std::string>() : "out/" + experiment.name;
  logger->info("{}: {} tiles of {} run {} on {}", experiment.name,
               experiment.plan.strategy.degrees.tiles(), experiment.machine.name,
               experiment.workload.name, world.description());
  const bool terminal = isatty(STDERR_FILENO) == 1;
  SignalWatch signals;
  Watchdog watchdog(std::chrono::seconds(options["watchdog"].as<unsigned>()),
                    [&](const Watchdog::Sign& last) {
                      std::cerr << "rank " << world.rank() << ": error: no progress for "
                                << options["watchdog"].as<unsigned>() << " s; simulated time "
                                << to_string(last.simulated) << ", " << last.events
                                << " events; giving up" << std::endl;
                      if (world.size() > 1) {
                        world.abort(70);
                      }
                      std::_Exit(70);
                    });
  request.hooks.progress_period_s = terminal ? 1 : 10;
  request.hooks.stop_requested = [&] { return signals.stop_requested(); };
  request.hooks.on_progress = [&](const sim::Progress& progress) {
    logger->info("{}", progress_line(progress));
  };
  request.hooks.on_round = [&](const sim::Progress& progress) {
    watchdog.feed({progress.simulated, progress.events});
    if (signals.take_status_request()) {
      std::cerr << "rank " << world.rank() << ": simulated " << to_string(progress.simulated)
                << ", " << progress.events << " events, " << progress.wall_s << " s" << std::endl;
    }
  };
  const trace::Summary summary = sim::run(experiment, world, request);
  if (world.rank() == 0) {
    if (summary.status != "finished") {
      std::cerr << "error: " << summary.message << std::endl;
    }
    std::cout << trace::to_table(summary) << "results in " << request.folder << std::endl;
  }
  return exit_code_of(summary);
}

}  // namespace tessera::cli
