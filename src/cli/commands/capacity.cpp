#include <iostream>

#include "options/rate_options.hpp"
#include "process/signals.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/explore/capacity.hpp"

namespace tessera::cli {
namespace {

constexpr int never_met_exit_code = 3;

Options capacity_options() {
  Options options("capacity", "Find the highest request rate at which a service meets its targets.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  add_rate_options(options);
  options
      .add("over",
           "search at each of these values; with several keys, at all combinations (repeatable)",
           texts_value(), "KEY=VALUE,...")
      .add("json", "print the result as JSON")
      .add("q,quiet", "no progress");
  return options;
}

int capacity_command(const Words& words, comm::Communicator& world) {
  Options options = capacity_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  SignalWatch signals;
  explore::CapacityRequest request = rate_request(options, signals);
  request.over = options.texts("over");
  const explore::CapacityOutcome outcome =
      explore::find_capacity(request, world, shared_loader(world));
  if (world.rank() == 0) {
    std::cout << (options.flag("json") ? explore::to_json(outcome) : explore::to_table(outcome));
    if (!outcome.complete) {
      std::cerr << "error: a stop was requested" << std::endl;
    }
  }
  if (!outcome.complete) {
    return stopped_exit_code;
  }
  return !outcome.rows.empty() && outcome.rows.front().rate > 0 ? 0 : never_met_exit_code;
}

const Registration capacity_registration(
    commands(),
    {"capacity", "find the highest request rate at which a service meets its targets", {}},
    Command{"capacity EXPERIMENT.yaml [options]", capacity_command});

}  // namespace
}  // namespace tessera::cli
