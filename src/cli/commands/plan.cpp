#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "options/rate_options.hpp"
#include "output_file.hpp"
#include "process/signals.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/candidates.hpp"
#include "tessera/explore/service_plan.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

constexpr int nothing_fits_exit_code = 3;

Options plan_options() {
  Options options("plan",
                  "Propose the strategy with which an experiment's machine trains its model "
                  "fastest, or the layout with which it serves the most requests within targets.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("devices", "use at most N tiles (default: all)", text_value(), "N")
      .add("top",
           "maximum number of candidates to simulate, besides the experiment's own and other "
           "layouts of the best (default: 64, and more that may be faster while simulations are "
           "short)",
           text_value(), "N")
      .add("full", "consider any number of stages, any micro-batch and any number of chunks")
      .add("all", "simulate every candidate that fits: brute force, for small spaces")
      .add("keep",
           "leave a key of the strategy as in the experiment, or restrict it to these values "
           "(repeatable)",
           texts_value(explore::words_to_keep()), "KEY[=VALUE,...]")
      .add("o,output",
           "file for the best strategy, or for a service the experiment with the best layout "
           "(only written with -o); an earlier one is replaced",
           text_value("strategy.yaml"), "FILE")
      .add("folder", "folder in which results are saved during the search (default: out/NAME-plan)",
           text_value(), "DIR")
      .add("resume", "continue the search in DIR: simulate what is missing", text_value(), "DIR")
      .add("json", "print the result as JSON")
      .add("q,quiet", "no progress");
  add_rate_options(options, " (of services)");
  return options;
}

// A word as a shell takes it.
std::string quoted_for_shell(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

// A command that runs the experiment with settings.
std::string run_of(const std::string& experiment, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& more) {
  std::string text = "tessera run " + quoted_for_shell(experiment);
  for (const std::vector<std::string>& settings : {overrides, more}) {
    for (const std::string& setting : settings) {
      text += " --set " + quoted_for_shell(setting);
    }
  }
  return text;
}

// Of a file with the best of a search, which may have been stopped.
std::string written(const std::string& path, bool complete, const std::string& how_far) {
  return "written to " + path +
         (complete ? "; " : ", the best so far (the search was stopped: " + how_far + "); ");
}

void print(const explore::ServicePlan& plan, const explore::ServicePlanRequest& request,
           const std::string& path, bool as_json) {
  std::cout << (as_json ? explore::to_json(plan.found) : explore::to_table(plan.found));
  if (!as_json) {
    std::cout << "results in " << request.folder << "\n";
  }
  if (!plan.best_settings.empty()) {
    std::ostream& out = as_json ? std::cerr : std::cout;
    if (path.empty()) {
      out << (plan.found.complete ? "" : "so far (" + plan.how_far() + "): ")
          << run_of(request.capacity.experiment, request.capacity.overrides, plan.best_settings);
    } else {
      trace::write_file_atomically(path, plan.best_yaml);
      out << written(path, plan.found.complete, plan.how_far()) << "tessera run "
          << quoted_for_shell(path);
    }
    out << " takes the best" << std::endl;
  }
  if (!plan.found.complete) {
    std::cerr << "error: a stop was requested; tessera plan --resume " << request.folder
              << " goes on" << std::endl;
  } else if (plan.best_settings.empty()) {
    std::cerr << "error: " << explore::why_none(plan.found, "layout") << std::endl;
  }
}

// Where results are kept.
std::string folder_of(const Options& options, comm::Communicator& world) {
  if (options.has("folder")) {
    return options.text("folder");
  }
  return "out/" +
         sim::name_of_experiment(options.subject(), options.settings(), shared_loader(world)) +
         "-plan";
}

explore::ServicePlanRequest service_request(const Options& options, const SignalWatch& signals,
                                            comm::Communicator& world) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  explore::ServicePlanRequest request;
  request.capacity = rate_request(options, signals);
  request.devices = options.has("devices") ? options.number("devices", 1, most) : 0;
  request.all = options.flag("all");
  request.folder = folder_of(options, world);
  return request;
}

// `earlier`: what is gone on with.
int plan_service(const Options& options, std::optional<explore::ServicePlanRequest> earlier,
                 comm::Communicator& world) {
  for (const char* const name : {"top", "full", "keep"}) {
    if (options.has(name)) {
      throw ConfigError(std::string("--") + name + " means nothing for a service");
    }
  }
  SignalWatch signals;
  explore::ServicePlanRequest request;
  if (earlier) {
    options.refuse_beside_resume("the folder",
                                 {"set", "devices", "all", "rate", "share", "within", "folder"});
    request = std::move(*earlier);
    watch(request.capacity, options, signals);
  } else {
    request = service_request(options, signals, world);
  }
  const std::string path = options.has("output") ? options.text("output") : "";
  if (!path.empty()) {
    check_output(path, explore::begins_as_service, "plan", world,
                 OtherOutput{explore::begins_as_proposal, "a strategy"});
  }
  const explore::ServicePlan plan = explore::plan_service(request, world, shared_loader(world));
  if (world.rank() == 0) {
    print(plan, request, path, options.flag("json"));
  }
  return !plan.found.complete         ? stopped_exit_code
         : plan.best_settings.empty() ? nothing_fits_exit_code
                                      : 0;
}

explore::SearchRequest request_of(const Options& options, const SignalWatch& signals,
                                  comm::Communicator& world) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  explore::SearchRequest request;
  if (options.has("resume")) {
    options.refuse_beside_resume("the folder",
                                 {"set", "devices", "top", "full", "all", "keep", "folder"});
    request = explore::request_in(options.text("resume"));
  } else {
    request.experiment = options.subject();
    request.overrides = options.settings();
    request.devices = options.has("devices") ? options.number("devices", 1, most) : 0;
    request.simulated = options.has("top") ? options.number("top", 1, most) : 0;
    request.full = options.flag("full");
    request.all = options.flag("all");
    if (request.all && options.has("top")) {
      throw ConfigError("--all does not go together with --top");
    }
    request.kept = options.texts("keep");
    request.folder = folder_of(options, world);
  }
  request.stop_requested = [&signals] { return signals.stop_requested(); };
  if (!options.flag("quiet")) {
    request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  }
  return request;
}

// `job`: what keys of the job begin with.
void print(const explore::SearchOutcome& outcome, const explore::SearchRequest& request,
           const std::string& job, const std::string& path, bool as_json) {
  std::cout << (as_json ? explore::to_json(outcome) : explore::to_table(outcome));
  if (!as_json) {
    std::cout << "results in " << outcome.folder << "\n";
  }
  if (!outcome.strategy_yaml.empty()) {
    trace::write_file_atomically(path, outcome.strategy_yaml);
    std::vector<std::string> settings{job + "strategy=" + path};
    if (outcome.by_stages()) {  // as it was simulated: with every tile a run takes far longer
      settings.push_back(job + "strategy.aggregation=stage");
    }
    (as_json ? std::cerr : std::cout)
        << written(path, outcome.complete, outcome.how_far())
        << run_of(request.experiment, request.overrides, settings) << " takes it" << std::endl;
  }
  if (outcome.advice) {
    std::cerr << explore::to_text(*outcome.advice);
  }
  if (!outcome.complete) {
    std::cerr << "error: a stop was requested; tessera plan --resume " << outcome.folder
              << " goes on" << std::endl;
  } else if (outcome.strategy_yaml.empty()) {
    std::cerr << "error: no strategy fits" << std::endl;
  }
}

int plan_command(const Words& words, comm::Communicator& world) {
  Options options = plan_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  std::optional<explore::ServicePlanRequest> earlier;
  if (options.has("resume")) {
    earlier = explore::service_request_in(options.text("resume"));
  }
  if (earlier ||
      (!options.has("resume") &&
       explore::is_service(options.subject(), options.settings(), shared_loader(world)))) {
    return plan_service(options, std::move(earlier), world);
  }
  for (const char* const name : {"rate", "share", "within"}) {
    if (options.has(name)) {
      throw ConfigError(std::string("--") + name +
                        " means something for a service with targets alone");
    }
  }
  SignalWatch signals;
  const explore::SearchRequest request = request_of(options, signals, world);
  const std::string path = options.text("output");
  check_output(path, explore::begins_as_proposal, "plan", world,
               OtherOutput{explore::begins_as_service, "the experiment of a service"});
  const std::string job =
      sim::path_of_single_job(request.experiment, request.overrides, shared_loader(world));
  const explore::SearchOutcome outcome =
      explore::search_strategies(request, world, shared_loader(world));
  if (world.rank() == 0) {
    print(outcome, request, job, path, options.flag("json"));
  }
  return !outcome.complete               ? stopped_exit_code
         : outcome.strategy_yaml.empty() ? nothing_fits_exit_code
                                         : 0;
}

const Registration plan_registration(
    commands(), {"plan", "propose the best strategy for an experiment's model and machine", {}},
    Command{"plan EXPERIMENT.yaml [options]", plan_command});

}  // namespace
}  // namespace tessera::cli
