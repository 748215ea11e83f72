#include <iostream>

#include "commands.hpp"
#include "options.hpp"
#include "signals.hpp"
#include "tessera/core/error.hpp"
#include "tessera/explore/capacity.hpp"

namespace tessera::cli {
namespace {

constexpr int never_met_exit_code = 3;

Options capacity_options() {
  Options options("capacity",
                  "Find the largest rate of requests at which a service meets its targets.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options
      .add("rate", "key of the rate, whose value in the experiment is tried first",
           text_value("workload.tenants.0.requests.rate"), "KEY")
      .add("share", "of a service's requests that are to meet all targets", text_value("0.9"), "S")
      .add("within", "how far above the rate found the targets may still be met, of it",
           text_value("0.02"), "S")
      .add("over",
           "search at each of these values; with several keys at all combinations "
           "(repeatable)",
           texts_value(), "KEY=VALUE,...")
      .add("json", "print the result as JSON")
      .add("q,quiet", "no progress");
  return options;
}

double share_of(const Options& options, const std::string& name, double least, double most) {
  const double value = options.value<double>(name).value_or(least);
  if (!(value >= least && value <= most)) {
    throw ConfigError("--" + name + ": expected a number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  }
  return value;
}

int capacity_command(const Words& words, comm::Communicator& world) {
  Options options = capacity_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  explore::CapacityRequest request;
  request.experiment = options.subject();
  request.overrides = options.settings();
  request.key = options.text("rate");
  request.share = share_of(options, "share", 0.001, 1);
  request.within = share_of(options, "within", 0.0001, 1);
  request.over = options.texts("over");
  if (world.size() > 1) {
    throw ConfigError("tessera capacity runs on one rank");
  }
  SignalWatch signals;
  request.stop_requested = [&] { return signals.stop_requested(); };
  if (!options.flag("quiet")) {
    request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  }
  const explore::CapacityOutcome outcome = explore::find_capacity(request, shared_loader(world));
  std::cout << (options.flag("json") ? explore::to_json(outcome) : explore::to_table(outcome));
  if (!outcome.complete) {
    std::cerr << "error: a stop was requested" << std::endl;
    return stopped_exit_code;
  }
  return !outcome.rows.empty() && outcome.rows.front().rate > 0 ? 0 : never_met_exit_code;
}

const Registration capacity_registration(
    commands(),
    {"capacity", "find the largest rate of requests that meets a service's targets", {}},
    Command{"capacity EXPERIMENT.yaml [options]", capacity_command});

}  // namespace
}  // namespace tessera::cli
