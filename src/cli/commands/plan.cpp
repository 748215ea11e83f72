#include <iostream>
#include <limits>

#include "commands.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "signals.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

Options describe() {
  Options options("plan",
                  "Propose the strategy with which an experiment's machine trains its model "
                  "fastest.",
                  "experiment", "EXPERIMENT.yaml");
  options.add_settings();
  options.add("devices", "use at most N tiles (default: all)", text_value(), "N")
      .add("top", "how many candidates are simulated, those with the best estimates",
           text_value("8"), "N")
      .add("full", "consider any number of stages and any micro-batch")
      .add("o,output", "where the best strategy is written; an earlier one is replaced",
           text_value("strategy.yaml"), "FILE")
      .add("q,quiet", "no progress");
  return options;
}

int plan_command(const Words& words, comm::Communicator& world) {
  Options options = describe();
  if (!options.parse(words, world)) {
    return 0;
  }
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  SignalWatch signals;
  explore::SearchRequest request;
  request.experiment = options.subject();
  request.overrides = options.settings();
  request.devices = options.has("devices") ? options.number("devices", 0, most) : 0;
  request.simulated = options.number("top", 1, most);
  request.full = options.flag("full");
  request.stop_requested = [&] { return signals.stop_requested(); };
  if (!options.flag("quiet")) {
    request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  }
  const std::string path = options.text("output");
  check_output(path, explore::begins_as_proposal, "plan", world);
  const explore::SearchOutcome outcome =
      explore::search_strategies(request, world, shared_loader(world));
  const bool found = !outcome.strategy_yaml.empty();
  if (world.rank() == 0) {
    std::cout << explore::to_table(outcome);
    if (found) {
      trace::write_file_atomically(path, outcome.strategy_yaml);
      std::cout << "written to " << path << "; tessera run " << request.experiment
                << " --set strategy=" << path << " takes it" << std::endl;
    } else {
      std::cerr << "error: no strategy fits" << std::endl;
    }
  }
  return found ? 0 : 3;
}

const Registration registration(
    commands(), {"plan", "propose the best strategy for an experiment's model and machine", {}},
    Command{"plan EXPERIMENT.yaml [options]", plan_command});

}  // namespace
}  // namespace tessera::cli
