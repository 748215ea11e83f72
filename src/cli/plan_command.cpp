#include <cxxopts.hpp>
#include <iostream>

#include "commands.hpp"
#include "signals.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

cxxopts::Options describe() {
  cxxopts::Options options("tessera plan",
                           "Propose the strategy with which an experiment's machine trains its "
                           "model fastest.");
  options.positional_help("EXPERIMENT.yaml");
  options.add_options()("experiment", "the experiment file", cxxopts::value<std::string>())(
      "set", "set a key: key.path=value (repeatable)", cxxopts::value<std::vector<std::string>>(),
      "KEY=VALUE")("devices", "use at most N tiles (default: all)",
                   cxxopts::value<std::uint64_t>()->default_value("0"),
                   "N")("top", "how many candidates are simulated, those with the best estimates",
                        cxxopts::value<unsigned>()->default_value("8"),
                        "N")("full", "consider any number of stages and any micro-batch")(
      "o,output", "where the best strategy is written",
      cxxopts::value<std::string>()->default_value("strategy.yaml"),
      "FILE")("q,quiet", "no progress")("h,help", "this text");
  options.parse_positional({"experiment"});
  return options;
}

}  // namespace

int plan_command(const Words& words, comm::Communicator& world) {
  cxxopts::Options description = describe();
  Arguments arguments("tessera plan", words);
  const cxxopts::ParseResult options = description.parse(arguments.count(), arguments.values());
  if (options.count("help") > 0) {
    std::cout << (world.rank() == 0 ? description.help() : "");
    return 0;
  }
  if (options.count("experiment") == 0) {
    throw ConfigError("no experiment given; see tessera plan --help");
  }
  SignalWatch signals;
  explore::SearchRequest request;
  request.experiment = options["experiment"].as<std::string>();
  if (options.count("set") > 0) {
    request.overrides = options["set"].as<std::vector<std::string>>();
  }
  request.devices = options["devices"].as<std::uint64_t>();
  request.simulated = options["top"].as<unsigned>();
  request.full = options.count("full") > 0;
  request.stop_requested = [&] { return signals.stop_requested(); };
  if (options.count("quiet") == 0) {
    request.on_note = [](const std::string& text) { std::cerr << "info: " << text << std::endl; };
  }
  if (request.simulated == 0) {
    throw ConfigError("--top must be at least 1");
  }
  try {
    const explore::SearchOutcome outcome =
        explore::search_strategies(request, world, shared_loader(world));
    const bool found = !outcome.strategy_yaml.empty();
    if (world.rank() == 0) {
      std::cout << explore::to_table(outcome);
      if (found) {
        const auto path = options["output"].as<std::string>();
        trace::write_file_atomically(path, outcome.strategy_yaml);
        std::cout << "written to " << path << "; tessera run " << request.experiment
                  << " --set strategy=" << path << " takes it" << std::endl;
      } else {
        std::cerr << "error: no strategy fits" << std::endl;
      }
    }
    return found ? 0 : 3;
  } catch (const StopRequested& stop) {  // of all ranks alike
    if (world.rank() == 0) {
      std::cerr << "error: " << stop.what() << std::endl;
    }
    return stop.exit_code();
  }
}

}  // namespace tessera::cli
