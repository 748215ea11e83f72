#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
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

std::shared_ptr<spdlog::logger> make_logger(const Options& options, int rank) {
  auto logger = spdlog::stderr_color_st("tessera");
  logger->set_pattern("%^%l%$: %v");
  const auto verbose = options.times("verbose");
  const auto quiet = options.times("quiet");
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

Options describe() {
  Options options("run", "Simulate an experiment.", "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add()("o,output", "run folder (default: out/NAME)", cxxopts::value<std::string>(), "DIR")(
      "trace", "none, summary or full", cxxopts::value<std::string>(), "LEVEL")(
      "checkpoint-every",
      "write a checkpoint each time so much wall time (30s, 10min, 2h) or simulated time "
      "(sim:5ms) has passed; both may be given",
      cxxopts::value<std::vector<std::string>>(), "TIME")(
      "resume", "go on with the run in DIR from its newest checkpoint, on any number of ranks",
      cxxopts::value<std::string>(),
      "DIR")("keep-going", "go on when a checkpoint cannot be written, instead of ending with 74")(
      "watchdog", "seconds without progress after which a run is given up; 0: never",
      cxxopts::value<std::string>()->default_value("300"),
      "S")("test-delays", "for tests: make ranks late at random, by this seed",
           cxxopts::value<std::string>(),
           "SEED")("v,verbose", "say more (repeatable)")("q,quiet", "say less (repeatable)");
  add_cut_options(options);
  return options;
}

// Says which files are read.
config::TextLoader noting(config::TextLoader load, spdlog::logger& logger) {
  return [load = std::move(load), &logger](const std::string& path) {
    std::string text = load(path);
    logger.debug("read {}: {} bytes", path, text.size());
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

std::uint64_t tiles_at_work(const sim::Job& job) {
  if (job.chip) {
    return job.chip->cores.size();
  }
  if (job.serving) {
    return job.serving->npus.size() * job.serving->cores();
  }
  return job.graph ? job.graph->npus() : job.plan.strategy.degrees.tiles();
}

std::uint64_t tiles_at_work(const sim::Experiment& experiment) {
  if (experiment.tenants.empty()) {
    return tiles_at_work(static_cast<const sim::Job&>(experiment));
  }
  std::uint64_t tiles = 0;
  for (const sim::Tenant& tenant : experiment.tenants) {
    tiles += tiles_at_work(tenant.job);
  }
  return tiles;
}

void tell_job(const sim::Job& job, spdlog::logger& logger) {
  if (job.chip) {
    logger.debug("chip: {} cores, {} operators", job.chip->cores.size(),
                 job.chip->operators.size());
    return;
  }
  if (job.serving) {
    logger.debug("serving: {} NPUs of {} cores, {} tenants, {} requests", job.serving->npus.size(),
                 job.serving->cores(), job.serving->tenants.size(), job.serving->requests());
    return;
  }
  if (job.graph) {
    logger.debug("graphs: {} NPUs, {} nodes, {} communicators", job.graph->npus(),
                 job.graph->look.nodes, job.graph->groups.size());
    return;
  }
  const plan::Plan& plan = job.plan;
  const plan::Degrees& degrees = plan.strategy.degrees;
  logger.debug(
      "plan: pipeline {}, tensor {}, data {}; schedule {}, layout {}, {} micro-batches, {} "
      "instructions an iteration",
      degrees.pipeline, degrees.tensor, degrees.data, plan.strategy.schedule, plan.strategy.layout,
      plan.strategy.micro_batches, plan.instructions());
}

// What the experiment is made of.
void tell_parts(const sim::Experiment& experiment, spdlog::logger& logger) {
  if (!logger.should_log(spdlog::level::debug)) {
    return;
  }
  config::Diagnostics none;
  const config::Value resolved = config::parse("resolved", experiment.resolved, none);
  const machine::Topology& topology = *experiment.machine.topology;
  logger.debug("machine: {} nodes, {} compute, {} DRAM channels", topology.nodes(),
               topology.computing_nodes(), experiment.machine.channels.size());
  logger.debug("models: network {} routed {}, memory {}, compute {}", model_of(resolved, "network"),
               experiment.network->routing(), model_of(resolved, "memory"),
               model_of(resolved, "compute"));
  if (experiment.tenants.empty()) {
    tell_job(experiment, logger);
  }
  for (const sim::Tenant& tenant : experiment.tenants) {
    logger.debug("tenant {}: {} tiles, begins at {}", tenant.name, tenant.tiles.size(),
                 to_string(tenant.start));
    tell_job(tenant.job, logger);
  }
}

// The experiment to run, and the folder it runs in.
sim::Experiment read_input(const Options& options, const config::TextLoader& load,
                           sim::RunRequest& request) {
  request.resume = options.has("resume");
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
  Options options = describe();
  if (!options.parse(words, world)) {
    return 0;
  }
  const auto logger = make_logger(options, world.rank());
  constexpr std::int64_t most_seconds = std::numeric_limits<std::int32_t>::max();
  const std::chrono::seconds patience(options.number("watchdog", 0, most_seconds));
  sim::RunRequest request;
  request.checkpoints.keep_going = options.flag("keep-going");
  read_checkpoint_times(options.texts("checkpoint-every"), request.checkpoints);
  sim::Experiment experiment = read_input(options, noting(shared_loader(world), *logger), request);
  apply_cut_options(options, experiment, world);
  if (request.resume && show_if_finished(request.folder, world, *logger)) {
    return 0;
  }
  logger->info("{}: {} tiles of {} run {} on {}", experiment.name, tiles_at_work(experiment),
               experiment.machine.name, experiment.workload.name, world.description());
  tell_parts(experiment, *logger);
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
  request.hooks.on_checkpoint = [&](bool begins) {
    watchdog.pause(begins);
    logger->trace("work on a checkpoint {}", begins ? "begins" : "ends");
  };
  request.hooks.on_note = [&](const std::string& text) { logger->info("{}", text); };
  request.hooks.on_detail = [&](const std::string& text) { logger->debug("{}", text); };
  request.hooks.on_warning = [&](const std::string& text) { logger->warn("{}", text); };
  std::unique_ptr<comm::Communicator> delayed;
  if (options.has("test-delays")) {
    constexpr std::chrono::microseconds longest{500};
    const std::int64_t seed =
        options.number("test-delays", 0, std::numeric_limits<std::int64_t>::max());
    delayed = comm::make_delayed(world, static_cast<std::uint64_t>(seed), longest);
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
